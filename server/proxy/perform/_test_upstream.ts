// Upstreams for the tests of the sender, made of node:net and node:tls, so that what they say is said byte for byte.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import type { Driver } from "../../../net/connection/mod.ts";
import { Guard } from "../../guard/mod.ts";
import type { Ending, PoolLimits } from "../../../net/upstream/mod.ts";
import { type HopResponse, Upstream, type UpstreamRequest } from "./upstream.ts";

/** The text of a file of the connections' testdata/. */
export const pem = (name: string): string =>
  readFileSync(new URL(`../../../net/connection/testdata/${name}`, import.meta.url), "utf8");

/** A request as it arrived, one character a byte. */
export interface Received {
  text: string;
  socket: net.Socket;
  /** Of the connection it came on, from 0. */
  connection: number;
}

/** An upstream that answers byte for byte as a test has written it. */
export interface RawUpstream extends AsyncDisposable {
  url: string;
  port: number;
  received: Received[];
  /** Sockets in the order they were opened. */
  sockets: net.Socket[];
  /** Resolves when that socket has been closed by both sides. */
  closed(connection: number): Promise<void>;
}

/** How a raw upstream behaves. */
export interface RawUpstreamOptions {
  /** Name of a certificate of testdata/, for TLS. */
  certificate?: string;
  /** Do not wait for the request's body. */
  early?: boolean;
  /** Told of all that arrives, as it arrives. */
  onBytes?(socket: net.Socket, bytes: Uint8Array): void;
}

/** Starts an upstream that has `reply` called for every whole request. */
export async function startRawUpstream(
  reply: (request: Received) => void,
  { certificate, early, onBytes }: RawUpstreamOptions = {},
): Promise<RawUpstream> {
  const sockets: net.Socket[] = [];
  const closed: Promise<void>[] = [];
  const received: Received[] = [];
  const serve = (socket: net.Socket) => {
    const connection = sockets.push(socket.on("error", () => {})) - 1;
    closed.push(new Promise((resolve) => socket.on("close", () => resolve())));
    let text = "";
    socket.on("data", (bytes) => {
      onBytes?.(socket, Buffer.from(bytes));
      text += bytes.toString("latin1");
      for (let end = findEnd(text, early); end > 0; end = findEnd(text, early)) {
        const request = { text: text.slice(0, end), socket, connection };
        text = early ? "" : text.slice(end);
        received.push(request);
        reply(request);
      }
    });
  };
  const server = certificate === undefined
    ? net.createServer({ noDelay: true }, serve)
    : tls.createServer({ key: pem(`${certificate}.key`), cert: pem(`${certificate}.pem`) }, serve)
      .on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const { port } = address;
  return {
    url: `http${certificate === undefined ? "" : "s"}://127.0.0.1:${port}`,
    port,
    received,
    sockets,
    closed: (connection) => closed[connection],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Where the first request of the text ends, or 0. */
function findEnd(text: string, early = false): number {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (headEnd < 4 || early) return headEnd < 4 ? 0 : headEnd;
  const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1] ?? 0);
  if (!/\r\ntransfer-encoding: chunked\r\n/i.test(text)) return text.length >= headEnd + length ? headEnd + length : 0;
  return text.indexOf("\r\n0\r\n\r\n", headEnd - 2) < 0 ? 0 : text.indexOf("\r\n0\r\n\r\n", headEnd - 2) + 7;
}

/** An answer with that body and its length. */
export const ok = (body = "", ...fields: string[]): string =>
  ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...fields, "", body].join("\r\n");

/** What ends a request by hand. */
export interface ManualEnding extends Ending {
  end(reason: Error): void;
}

/** What a request's end is to the code under test, brought about by hand. */
export function createEnding(): ManualEnding {
  let reason: Error | null = null;
  let callback: ((reason: Error) => void) | null = null;
  return {
    get reason() {
      return reason;
    },
    onEnd: (end) => callback = end,
    end(why) {
      reason = why;
      callback?.(why);
    },
  };
}

/** The proxy's upstream with nothing in front of it. */
export interface TestUpstream extends Disposable {
  upstream: Upstream;
  send(url: string, request?: Partial<UpstreamRequest>): Promise<HopResponse>;
}

/** What of the proxy's upstream a test sets itself. */
export interface TestUpstreamOptions {
  driver?: Driver;
  limits?: Partial<PoolLimits>;
  caCerts?: string[];
  connectTimeoutMs?: number;
  resolver?: (hostname: string) => Promise<string[]>;
}

/** A sender that may reach this machine. */
export function createTestUpstream({ resolver, ...options }: TestUpstreamOptions = {}): TestUpstream {
  const guard = new Guard({ allow: ["127.0.0.0/8"], resolver: resolver ?? (() => Promise.resolve(["127.0.0.1"])) });
  const upstream = new Upstream({ guard, connectTimeoutMs: 10_000, ...options });
  return {
    upstream,
    send: (url, request) =>
      upstream.send({ method: "GET", url: new URL(url), headers: [], body: null, ending: createEnding(), ...request }),
    [Symbol.dispose]: () => upstream.close(),
  };
}

/** The whole body as Latin-1 text. Rejects when it broke off. */
export async function readText({ body }: HopResponse): Promise<string> {
  let text = "";
  for (let chunks = await body.take(); chunks !== null; chunks = await body.take()) {
    for (const chunk of chunks) text += new TextDecoder("latin1").decode(chunk);
  }
  return text;
}

/** For `assert.rejects`: an `HttpError` with that status and code. */
export const failsAs = (wanted: string): (error: unknown) => boolean => (error) => {
  assert(error instanceof Error && "code" in error && "status" in error, String(error));
  assert.equal(`${error.status} ${error.code}`, wanted);
  return true;
};

/** Looks until something has come about that has no event of its own. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
