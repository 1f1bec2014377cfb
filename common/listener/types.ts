import type { Logger } from "../log.ts";

/**
 * One HTTP request as a listener received it, already checked: one Host, one well-formed length.
 * It carries what `Request` cannot: any method, the target byte for byte, bodies with GET, and the upgrade.
 * Drivers differ where their runtimes do: node:http knows the methods of its parser's list only; Deno refuses a body
 * with GET, sends `100 Continue` by itself, cannot end a connection after an answer, and takes HTTP/1.1 without Host.
 */
export interface Exchange {
  readonly method: string;
  /** Path and query exactly as sent, starting with `/`. */
  readonly target: string;
  /** The Host header (`:authority` in HTTP/2) as sent; "" when an HTTP/1.0 client sent none. */
  readonly host: string;
  /** Address of the peer of the TCP connection, not of anyone it claims to speak for. */
  readonly remoteAddress: string;
  /** True when this listener ended TLS itself. */
  readonly secure: boolean;
  /**
   * Header fields, each a name in lower case and then its value: one list, as a pair for each field would cost a busy
   * relay a tenth of its time. The Node driver keeps order and duplicates; Deno's sorts and joins them.
   */
  readonly headers: readonly string[];
  /** Whether a body was announced. */
  readonly hasBody: boolean;
  /** The body as it arrives, or null when none was announced. Reading sends `100 Continue` where it is due. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /** Aborts when the visitor goes away before the answer is complete. */
  readonly signal: AbortSignal;
  /**
   * Whether a chunk of an answer's streamed body has been taken over for good by the time the next is asked for,
   * so that its memory may be given back. Where this is false the system may still be reading it.
   */
  readonly takesChunks: boolean;
  /** Whether an answer of 205 can end: Deno's server gives it no length, so that its reader would wait for ever. */
  readonly ends205: boolean;
  /** The same as a web-standard `Request`, for areas that use a framework. Throws `HttpError` 400 when it has none. */
  readonly request: Request;
  /** One header by its lower-case name; duplicates joined with ", ". */
  header(name: string): string | null;
  /** Whether this is a WebSocket handshake (RFC 6455, section 4.2.1). */
  readonly isWebSocket: boolean;
  /** Accepts the WebSocket handshake: return the response to the listener unchanged. */
  upgrade(options: UpgradeOptions): Response;
}

export interface UpgradeOptions {
  /** The subprotocol to answer with; it must be one that the visitor offered. */
  protocol?: string;
  /** Longest message that is taken, in bytes; a longer one closes the socket with 1009. 17 MiB when left out. */
  maxMessageBytes?: number;
  /**
   * Pings a quiet peer, and ends a socket whose peer says nothing for this long, pongs included. Whole seconds; none
   * when left out.
   */
  heartbeatSeconds?: number;
  onOpen?(socket: ServerSocket): void;
  onMessage(data: string | Uint8Array): void;
  /** Called once, for whatever reason the socket ended; 1006 when it broke without a close frame. */
  onClose(code: number, reason: string): void;
}

/** The server's end of a WebSocket. Calls after the end have no effect. */
export interface ServerSocket {
  /** `data` is copied: it may change as soon as this returns. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /**
   * Left out, or 1005, `code` stays out of the close frame; one that may not be sent becomes the nearest that may.
   * `reason` is cut to 123 bytes.
   */
  close(code?: number, reason?: string): void;
  /** Bytes handed to `send` that the network has not taken yet. */
  readonly bufferedAmount: number;
}

/**
 * What an answer's body fails with to break the connection off on purpose, so that the visitor does not take a part
 * for the whole. Listeners log nothing: it is no defect of theirs.
 */
export class BodyCut extends Error {
  override name = "BodyCut";
}

/** Answers one exchange. What it throws is a defect: the listener logs it and answers 500. */
export type ExchangeHandler = (exchange: Exchange) => Response | Promise<Response>;

export interface ListenOptions {
  hostname: string;
  /** 0 takes a free one. */
  port: number;
  /** PEM texts; with both, the listener ends TLS itself (HTTP/1.1 and HTTP/2). */
  tls?: { cert: string; key: string };
  log: Logger;
}

/** A listening server. */
export interface Listener {
  readonly hostname: string;
  readonly port: number;
  /** Stops accepting and waits until running exchanges are done. */
  close(): Promise<void>;
  /** Ends everything now. */
  abort(): void;
}

/** Which implementation listens. `node` enforces timeouts on slow and idle connections, `deno` is the faster. */
export type ListenerKind = "deno" | "node";

/** What a Hono app of an area is run with: `app.fetch(exchange.request, { exchange })`. */
export interface ExchangeEnv {
  Bindings: { exchange: Exchange };
}
