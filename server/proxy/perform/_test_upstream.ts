// Upstreams for tests, built on node:net and node:tls, so that tests choose every byte.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import type { Driver } from "../../../net/connection/mod.ts";
import { Guard } from "../../guard/mod.ts";
import type { Ending, PoolLimits } from "../../../net/upstream/mod.ts";
import { type HopResponse, Upstream, type UpstreamRequest } from "./upstream.ts";

/** Reads a file from the connections' testdata/. */
export const pem = (name: string): string =>
  readFileSync(new URL(`../../../net/connection/testdata/${name}`, import.meta.url), "utf8");

/** A received request, one character a byte. */
export interface Received {
  text: string;
  socket: net.Socket;
  /** The connection's index, from 0. */
  connection: number;
}

/** An upstream that sends the bytes that a test chose. */
export interface RawUpstream extends AsyncDisposable {
  url: string;
  port: number;
  received: Received[];
  /** Sockets in opening order. */
  sockets: net.Socket[];
  /** Resolves when both sides closed that socket. */
  closed(connection: number): Promise<void>;
}

/** Options for a raw upstream. */
export interface RawUpstreamOptions {
  /** A certificate's name in testdata/, for TLS. */
  certificate?: string;
  /** Responds before the request's body. */
  early?: boolean;
  /** Called with bytes on arrival. */
  onBytes?(socket: net.Socket, bytes: Uint8Array): void;
}

/** Starts an upstream that calls `reply` for every whole request. */
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

/** Returns the first request's end in a text, or 0. */
function findEnd(text: string, early = false): number {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (headEnd < 4 || early) return headEnd < 4 ? 0 : headEnd;
  const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1] ?? 0);
  if (!/\r\ntransfer-encoding: chunked\r\n/i.test(text)) return text.length >= headEnd + length ? headEnd + length : 0;
  return text.indexOf("\r\n0\r\n\r\n", headEnd - 2) < 0 ? 0 : text.indexOf("\r\n0\r\n\r\n", headEnd - 2) + 7;
}

/** Builds a response with a body and its length. */
export const ok = (body = "", ...fields: string[]): string =>
  ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...fields, "", body].join("\r\n");

/** Ends a request on demand. */
export interface ManualEnding extends Ending {
  end(reason: Error): void;
}

/** Creates an ending that the test controls. */
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

/** The proxy's upstream alone. */
export interface TestUpstream extends Disposable {
  upstream: Upstream;
  send(url: string, request?: Partial<UpstreamRequest>): Promise<HopResponse>;
}

/** Options that tests set. */
export interface TestUpstreamOptions {
  driver?: Driver;
  limits?: Partial<PoolLimits>;
  caCerts?: string[];
  connectTimeoutMs?: number;
  resolver?: (hostname: string) => Promise<string[]>;
}

/** Creates an upstream that may reach this machine. */
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

/** Reads a whole body as Latin-1. Rejects when it breaks off. */
export async function readText({ body }: HopResponse): Promise<string> {
  let text = "";
  for (let chunks = await body.take(); chunks !== null; chunks = await body.take()) {
    for (const chunk of chunks) text += new TextDecoder("latin1").decode(chunk);
  }
  return text;
}

/** For `assert.rejects`: checks for an `HttpError` with a status and code. */
export const failsAs = (wanted: string): (error: unknown) => boolean => (error) => {
  assert(error instanceof Error && "code" in error && "status" in error, String(error));
  assert.equal(`${error.status} ${error.code}`, wanted);
  return true;
};

/** Polls until a condition without an event holds. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
