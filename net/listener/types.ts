import type { Certificate, Connection } from "../connection/mod.ts";
import type { RequestHead } from "../http1/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { ListenerLimits } from "./limits.ts";
import type { ListenerTraffic } from "./traffic.ts";

/**
 * One received and checked HTTP request: one Host, one valid length. Unlike `Request` it supports any method, the head
 * byte for byte, bodies with GET, upgrades, and byte responses.
 */
export interface Exchange {
  readonly method: string;
  /**
   * Path and query as sent, one character per byte, starting with `/`; `*` for OPTIONS on the server. For a target with
   * a host this is its path; that host is {@link host}.
   */
  readonly path: string;
  /** The host as sent (`:authority` in HTTP/2); "" for HTTP/1.0 without one. */
  readonly host: string;
  /** The TCP peer's address, without regard to forwarded fields. */
  readonly remoteAddress: string;
  /**
   * Whether the connection uses a slot reserved for urgent requests: refuse others. Left out by listeners without
   * reserved slots.
   */
  readonly isOverLimit?: boolean;
  /** Whether this listener ended TLS. */
  readonly secure: boolean;
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** The head as bytes, for forwarding. Valid until the exchange ends. */
  readonly head: RequestHead;
  /** Fields in order with duplicates: lower-case name, value, and so on. */
  readonly headers: readonly string[];
  /** {@link headers} with names as sent. */
  readonly rawHeaders: readonly string[];
  /** Returns a field by its lower-case name; duplicates joined with ", ". */
  header(name: string): string | null;
  /** Whether a body was announced. */
  readonly hasBody: boolean;
  /** The body as a stream, or null without one. Use this or {@link readBody}. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /**
   * Returns the next chunk, at least one byte, or null at the end. One call at a time; the chunk is valid until the
   * next call. The socket is read on demand, and the first call sends `100 Continue` if due.
   * @throws BodyCut when the visitor disconnects or sends an invalid body
   */
  readBody(): Promise<Uint8Array | null>;
  /** The trailer section's field lines, each with its CRLF, after the end from {@link readBody}. */
  readonly trailers: Uint8Array;
  /** Aborts when the visitor disconnects before the response is complete. */
  readonly signal: AbortSignal;
  /**
   * Called once when the visitor disconnects before the response is complete, or at once if it already has, but never
   * synchronously: a cheaper {@link signal}.
   */
  onLeave: (() => void) | null;
  /** The same as a web-standard `Request`, for frameworks. Throws `HttpError` 400 if there is none. */
  readonly request: Request;
  /** The value of `Upgrade` for a possible upgrade: HTTP/1.1, no body, not to HTTP/2; else null. */
  readonly upgrade: string | null;
  /** Whether this is a WebSocket handshake (RFC 6455, section 4.2.1). */
  readonly isWebSocket: boolean;
  /** For handlers with byte responses. */
  readonly response: ResponseWriter;
}

/**
 * A byte response, without `Response`, `Headers` or streams. A head block is its possibly empty reason phrase, CRLF,
 * and field lines, each with its CRLF: checked by the caller, without connection fields. Calls after the visitor
 * disconnected have no effect.
 */
export interface ResponseWriter {
  /** Whether {@link begin} or {@link switchProtocols} was called. */
  readonly begun: boolean;
  /** Sends an interim response (RFC 9110, section 15.2; not 101). HTTP/1.0 has none. */
  inform(status: number, block: Uint8Array): void;
  /**
   * Starts the response, and ends it with `end`. Block and body are copied.
   * @param length body bytes, as in the block's Content-Length; null if unknown
   * @param body the first body bytes
   * @param end whether they are all
   */
  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void;
  /**
   * Sends more body bytes, which must not change until it resolves: after the network took them, or the visitor
   * disconnected. One call at a time. With `end` it is the last.
   */
  write(piece: Uint8Array, end?: boolean): Promise<void>;
  /** Ends the body. Not while a write is pending. `trailers` are field lines, dropped if not possible. */
  end(trailers?: Uint8Array): void;
  /** Breaks the response off, so that a part is not mistaken for the whole. */
  cut(): void;
  /**
   * Sends 101 and hands the connection to the caller, who closes it. The block has an `upgrade` field, and the listener
   * adds `connection`. Bytes after the request are read first.
   */
  switchProtocols(block: Uint8Array): Connection;
}

/**
 * A body's error: the visitor disconnected, or a response is deliberately cut so that a part is not mistaken for the
 * whole. Listeners do not log it.
 */
export class BodyCut extends Error {
  override name = "BodyCut";
}

/**
 * Handles one exchange: returns the response, or null when it uses {@link Exchange.response}, now or later. The
 * listener logs errors and sends 500.
 */
export type ExchangeHandler = (exchange: Exchange) => Response | null | Promise<Response | null>;

/** Listener options. */
export interface ListenOptions {
  hostname: string;
  /** 0 selects a free port. */
  port: number;
  /** PEM texts; with both, the listener ends TLS itself (HTTP/1.1 and HTTP/2). */
  tls?: Certificate;
  /** Limits per visitor and in total; {@link DEFAULT_LIMITS} by default. */
  limits?: Partial<ListenerLimits>;
  /** Reports whether a peer is the operator's reverse proxy, which has no limit of its own. */
  isTrusted?: (address: string) => boolean;
  /** Counts traffic; off if left out. The runtime's listener counts no bytes. */
  traffic?: ListenerTraffic;
  log: Logger;
}

/** A listening server. */
export interface Listener {
  readonly hostname: string;
  readonly port: number;
  /** Open connections; -1 if the runtime does not report them. */
  readonly connections: number;
  /**
   * Uses another TLS certificate from now on; open connections keep theirs. Left out if the runtime cannot.
   * @throws the system's error for an unusable certificate; the old one stays
   */
  setCertificate?(pem: Certificate): void;
  /** Stops accepting and waits until running exchanges are done. */
  close(): Promise<void>;
  /** Ends everything now, except upgraded connections, which belong to their owners. */
  abort(): void;
}

/** The listening implementation: our own, or the runtime's `Deno.serve`. */
export type ListenerKind = "edge" | "deno";

/** The environment for a Hono app: `app.fetch(exchange.request, { exchange })`. */
export interface ExchangeEnv {
  Bindings: { exchange: Exchange };
}
