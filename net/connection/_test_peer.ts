// Peers for connection tests, on node:net and node:tls, so that the suite runs on both runtimes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";

/** Returns the text of a file in testdata/. */
export const pem = (name: string): string => readFileSync(new URL(`./testdata/${name}`, import.meta.url), "utf8");

/** A peer on this machine, with a handler for every connection. */
export interface Peer extends AsyncDisposable {
  hostname: string;
  port: number;
  /** Resolves with the first connection. */
  accepted: Promise<void>;
}

/** Starts a plain TCP peer. */
export const listen = (serve: (socket: net.Socket) => void, hostname = "127.0.0.1"): Promise<Peer> =>
  open(net.createServer({ allowHalfOpen: true }), "connection", serve, hostname);

/** Starts a TLS peer with a certificate from testdata/. */
export function listenTls(certificate: string, serve: (socket: tls.TLSSocket) => void): Promise<Peer> {
  const options = { key: pem(`${certificate}.key`), cert: pem(`${certificate}.pem`), ALPNProtocols: ["http/1.1"] };
  return open(tls.createServer(options).on("tlsClientError", () => {}), "secureConnection", serve, "127.0.0.1");
}

async function open<S extends net.Socket>(
  server: net.Server,
  event: string,
  serve: (socket: S) => void,
  hostname: string,
): Promise<Peer> {
  const sockets = new Set<net.Socket>();
  const accepted = Promise.withResolvers<void>();
  server.on("connection", (socket: net.Socket) => sockets.add(socket.on("error", () => {})));
  server.on(event, (socket: S) => {
    socket.on("error", () => {});
    serve(socket);
    accepted.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return {
    hostname,
    port: address.port,
    accepted: accepted.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts a proxy that connects all clients to one port. */
export async function listenProxy(port: number): Promise<Peer & { heads: string[] }> {
  const heads: string[] = [];
  const peer = await listen((socket) => {
    socket.once("data", (head) => {
      heads.push(String(head));
      const target = net.connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
        socket.pipe(target).pipe(socket);
      });
      target.on("error", () => socket.destroy());
    });
  });
  return { ...peer, heads };
}

/** Returns a port without a listener. */
export async function freePort(): Promise<number> {
  await using peer = await listen(() => {});
  return peer.port;
}
