import type { Certificate, Connection } from "../connection/mod.ts";
import type { RequestHead } from "../http1/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { ListenerLimits } from "./limits.ts";
import type { ListenerTraffic } from "./traffic.ts";

/**
 * One HTTP request as a listener received it, already checked: one Host, one well-formed length.
 * It carries what `Request` cannot: any method, the head byte for byte, bodies with GET, upgrades, and an answer in bytes.
 */
export interface Exchange {
  readonly method: string;
  /**
   * Path and query exactly as sent, one character a byte, starting with `/`; `*` for OPTIONS of the whole server.
   * A target that names a host arrives as its path; that host is {@link host}.
   */
  readonly path: string;
  /** The host as sent (`:authority` in HTTP/2); "" when an HTTP/1.0 client sent none. */
  readonly host: string;
  /** Address of the peer of the TCP connection, not of anyone it claims to speak for. */
  readonly remoteAddress: string;
  /**
   * Connections have run out, and this one has a place that is kept for what must get in: whoever is none of that should
   * be turned away. Left out by listeners that keep none.
   */
  readonly isOverLimit?: boolean;
  /** True when this listener ended TLS itself. */
  readonly secure: boolean;
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** The head as bytes, for whoever passes it on. Good until the exchange is over. */
  readonly head: RequestHead;
  /** Header fields in their order, duplicates too: a name in lower case, its value, and so on. */
  readonly headers: readonly string[];
  /** {@link headers} with names as they were sent. */
  readonly rawHeaders: readonly string[];
  /** One header by its lower-case name; duplicates joined with ", ". */
  header(name: string): string | null;
  /** Whether a body was announced. */
  readonly hasBody: boolean;
  /** The body as it arrives, or null when none was announced. Use this or {@link readBody}. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /**
   * The next piece of the body, at least one byte, or null at its end. One call at a time; the piece is good until the
   * next call. Nothing is read off the socket before it is asked for, and the first call sends `100 Continue` where it
   * is due.
   * @throws BodyCut when the visitor leaves before the end, or sends what is no body
   */
  readBody(): Promise<Uint8Array | null>;
  /** The field lines of the trailer section, each with its CRLF, once {@link readBody} has told of the end. */
  readonly trailers: Uint8Array;
  /** Aborts when the visitor leaves before the answer is complete. */
  readonly signal: AbortSignal;
  /**
   * Called once when the visitor leaves before the answer is complete, or at once, but not from within, where they have
   * left already: {@link signal} for who has many exchanges.
   */
  onLeave: (() => void) | null;
  /** The same as a web-standard `Request`, for areas that use a framework. Throws `HttpError` 400 when it has none. */
  readonly request: Request;
  /**
   * The value of `Upgrade` when an upgrade is asked for that can be granted: HTTP/1.1, no body, not to HTTP/2; else null.
   */
  readonly upgrade: string | null;
  /** Whether this is a WebSocket handshake (RFC 6455, section 4.2.1). */
  readonly isWebSocket: boolean;
  /** For handlers that answer in bytes. */
  readonly response: ResponseWriter;
}

/**
 * An answer in bytes, without `Response`, `Headers` or streams. A block of a head is its reason phrase, which may be
 * empty, CRLF, and field lines, each with its CRLF: checked by the caller, and without fields of the connection.
 * Calls after the visitor has gone have no effect.
 */
export interface ResponseWriter {
  /** Whether {@link begin} or {@link switchProtocols} was called. */
  readonly begun: boolean;
  /** Sends an interim answer (RFC 9110, section 15.2; not 101). HTTP/1.0 has none. */
  inform(status: number, block: Uint8Array): void;
  /**
   * Begins the answer, and ends it with `end`. Block and body are copied.
   * @param length bytes of the body, which the block states as Content-Length; null when it is not known
   * @param body what is there of it
   * @param end that is all of it
   */
  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void;
  /**
   * More of the body: it must not change until this resolves, which is when the network has taken it, or the visitor
   * has gone. One at a time. With `end` it is the last.
   */
  write(piece: Uint8Array, end?: boolean): Promise<void>;
  /** The body is complete. Not while a write is pending. `trailers` are field lines, left out where they cannot be sent. */
  end(trailers?: Uint8Array): void;
  /** Breaks the answer off, so that a part is not taken for the whole. */
  cut(): void;
  /**
   * Answers 101 and hands the connection over: it is the caller's to close from then on. The block has an
   * `upgrade` field, and the listener adds `connection`. What the visitor has sent behind the request is read first.
   */
  switchProtocols(block: Uint8Array): Connection;
}

/**
 * What a body fails with: the visitor left, or an answer is broken off on purpose so that they do not take a part for
 * the whole. Listeners log nothing: it is no defect of theirs.
 */
export class BodyCut extends Error {
  override name = "BodyCut";
}

/**
 * Answers one exchange: gives the response back, or null when it answers by {@link Exchange.response}, now or later.
 * What it throws is a defect: the listener logs it and answers 500.
 */
export type ExchangeHandler = (exchange: Exchange) => Response | null | Promise<Response | null>;

/** Where a listener listens, and what it lets visitors take. */
export interface ListenOptions {
  hostname: string;
  /** 0 takes a free one. */
  port: number;
  /** PEM texts; with both, the listener ends TLS itself (HTTP/1.1 and HTTP/2). */
  tls?: Certificate;
  /** What one visitor, and all of them, may take; {@link DEFAULT_LIMITS} for what is left out. */
  limits?: Partial<ListenerLimits>;
  /** Whether a peer is a reverse proxy of the operator's: it speaks for many, and has no limit of its own. */
  isTrusted?: (address: string) => boolean;
  /** Counts what passes; nothing is counted when left out. Bytes not where the runtime listens. */
  traffic?: ListenerTraffic;
  log: Logger;
}

/** A listening server. */
export interface Listener {
  readonly hostname: string;
  readonly port: number;
  /** Connections open now; -1 where the runtime does not tell. */
  readonly connections: number;
  /**
   * Ends TLS with another certificate from now on; connections that are open keep theirs. Left out where the runtime
   * has no way to.
   * @throws what the system says when it cannot be used: then the one of before stays
   */
  setCertificate?(pem: Certificate): void;
  /** Stops accepting and waits until running exchanges are done. */
  close(): Promise<void>;
  /** Ends everything now, upgraded connections excepted: those are their owners'. */
  abort(): void;
}

/** Which implementation listens: our own, or the runtime's `Deno.serve`. */
export type ListenerKind = "edge" | "deno";

/** What a Hono app of an area is run with: `app.fetch(exchange.request, { exchange })`. */
export interface ExchangeEnv {
  Bindings: { exchange: Exchange };
}
