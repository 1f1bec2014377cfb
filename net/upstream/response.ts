import { Buffer } from "node:buffer";
import { type ChunkedDecoder, createChunkedDecoder, type ResponseHead } from "../http1/mod.ts";
import type { UpstreamConnection } from "./connection.ts";
import { ConnectionBroken, NoResponse, type OutgoingRequest } from "./types.ts";

/** A final head with its fields. */
export interface UpstreamHead {
  readonly head: ResponseHead;
  readonly statusText: string;
  /** As sent: order, case and duplicates stay. Bytes beyond ASCII are Latin-1. */
  readonly headers: [string, string][];
  /** The upstream's keep-alive time, in milliseconds. */
  readonly keepMs: number;
}

/** A described response may have any three-digit status. */
const MAX_STATUS = 999;

/**
 * Reads the final response head and skips 1xx heads before it. The connection's `start` is after it then.
 * @throws NoResponse, ConnectionBroken, ResponseSyntaxError
 */
export async function readResponseHead(
  connection: UpstreamConnection,
  { method, upgrade }: Pick<OutgoingRequest, "method" | "upgrade">,
): Promise<UpstreamHead> {
  const answered = { method, upgrade, maxStatus: MAX_STATUS };
  while (await fill(connection)) {
    for (let head = connection.parseHead(answered); head !== null; head = connection.parseHead(answered)) {
      if (!head.informational) return takeHead(connection, head);
      connection.start = head.end;
    }
  }
  throw new ConnectionBroken("the head was cut short");
}

/** Reports whether more bytes arrived. */
async function fill(connection: UpstreamConnection): Promise<boolean> {
  try {
    if (await connection.fill() !== null) return true;
  } catch (cause) {
    throw connection.hasResponded ? cause : new NoResponse("no answer", { cause });
  }
  if (!connection.hasResponded) throw new NoResponse("no answer");
  return false;
}

/** Length of `HTTP/1.1 200 `, before the reason phrase. */
const REASON_AT = 13;

function takeHead(connection: UpstreamConnection, head: ResponseHead): UpstreamHead {
  const { buffer, start } = connection;
  const text = Buffer.from(buffer.buffer, buffer.byteOffset + start, head.fieldsEnd - start).toString("latin1");
  connection.start = head.end;
  const [statusLine, ...lines] = text.split("\r\n");
  const headers: [string, string][] = [];
  let keepMs = Infinity;
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    headers.push([name, value]);
    if (colon === KEEP_ALIVE.length && name.toLowerCase() === KEEP_ALIVE) keepMs = readKeepMs(value);
  }
  return { head, statusText: statusLine.slice(REASON_AT), headers, keepMs };
}

const KEEP_ALIVE = "keep-alive";
/** The upstream can close a connection by its own clock while a request is in flight. */
const KEEP_MARGIN_MS = 1000;

function readKeepMs(value: string): number {
  const seconds = /\btimeout=(\d{1,9})\b/i.exec(value)?.[1];
  return seconds === undefined ? Infinity : Number(seconds) * 1000 - KEEP_MARGIN_MS;
}

/**
 * Initial read size: small for slow bodies, and larger after each full read. Half-megabyte reads cost a third less than
 * reads with an eighth.
 */
const LEAST_READ = 64 * 1024;
const LARGEST_READ = 512 * 1024;
/** Chunks per read that are passed on separately. More are joined, because each would cost more than its bytes. */
const MAX_PIECES = 32;

/** The connection for a body, and callbacks for its end. */
export interface ResponseBodyOptions {
  connection: UpstreamConnection;
  head: ResponseHead;
  /** Called once, with whether the connection is reusable. */
  onEnd(reusable: boolean): void;
  /** Converts an error for the reader. */
  explain(error: unknown): unknown;
}

const NO_TRAILERS = new Uint8Array(0);

/** A response body, read from its connection on demand. */
export class ResponseBody {
  readonly #options: ResponseBodyOptions;
  readonly #decoder: ChunkedDecoder | null;
  /** Remaining bytes; Infinity without a known length. */
  #left: number;
  #isOver = false;
  #failure: { error: unknown } | null = null;
  #readSize = LEAST_READ;
  #memory: Uint8Array<ArrayBuffer> | null = null;

  constructor(options: ResponseBodyOptions) {
    const { framing, length } = options.head;
    this.#options = options;
    this.#decoder = framing === "chunked" ? createChunkedDecoder() : null;
    this.#left = framing === "length" ? length : framing === "none" || framing === "upgrade" ? 0 : Infinity;
    if (this.#left === 0) this.#finish(options.connection.start === options.connection.end);
  }

  /**
   * Returns all available bytes, waits if there are none, and returns null at the end. One call at a time. Rejects when
   * the body broke off, and in each later call.
   */
  async take(): Promise<Uint8Array[] | null> {
    try {
      while (!this.#isOver) {
        const chunks = this.#accept(await this.#read());
        if (chunks.length > 0) return chunks;
      }
    } catch (error) {
      this.#failure ??= { error: this.#options.explain(error) };
      this.#end(false);
    }
    if (this.#failure) throw this.#failure.error;
    return null;
  }

  /** Field lines after a chunked body, each with its CRLF. Valid at its end. */
  get trailers(): Uint8Array {
    return this.#decoder?.trailers ?? NO_TRAILERS;
  }

  /** Gives up the rest. */
  cancel(): void {
    this.#end(false);
  }

  /** Returns the bytes after the head first, then those from the connection. Null when the upstream has ended it. */
  async #read(): Promise<Uint8Array | null> {
    const { connection } = this.#options;
    if (connection.start < connection.end) {
      const bytes = connection.buffer.slice(connection.start, connection.end);
      connection.start = connection.end = 0;
      return bytes;
    }
    const memory = this.#memory ?? new Uint8Array(Math.min(this.#readSize, this.#left));
    const read = await connection.readInto(memory);
    return read === null ? null : this.#passOn(memory, read);
  }

  /** A buffer that is at least half full goes to the reader; otherwise a copy does. */
  #passOn(memory: Uint8Array<ArrayBuffer>, read: number): Uint8Array {
    if (read * 2 < memory.length) {
      this.#readSize = Math.max(LEAST_READ, this.#readSize / 2);
      this.#memory = memory.length > LEAST_READ ? null : memory;
      return memory.slice(0, read);
    }
    if (read === memory.length) this.#readSize = Math.min(LARGEST_READ, this.#readSize * 2);
    this.#memory = null;
    return memory.subarray(0, read);
  }

  #accept(bytes: Uint8Array | null): Uint8Array[] {
    if (bytes === null) return this.#acceptEnd();
    if (this.#decoder) return this.#decode(this.#decoder, bytes);
    const own = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= own.length;
    if (this.#left === 0) this.#finish(own.length === bytes.length);
    return [own];
  }

  #decode(decoder: ChunkedDecoder, bytes: Uint8Array): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    const taken = decoder.push(bytes, (data) => pieces.push(data));
    if (decoder.done) this.#finish(taken === bytes.length);
    return pieces.length > MAX_PIECES ? [Buffer.concat(pieces)] : pieces;
  }

  #acceptEnd(): Uint8Array[] {
    if (this.#isOver) return [];
    // A timeout on this side closes the connection in the same way, which is not the body's end.
    const { head, connection } = this.#options;
    if (head.framing !== "close" || connection.isClosed) throw new ConnectionBroken("the answer was cut short");
    this.#end(false);
    return [];
  }

  /** Ends the body. @param isClean whether no bytes followed */
  #finish(isClean: boolean): void {
    this.#end(isClean && this.#options.head.keepAlive);
  }

  #end(reusable: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd(reusable);
  }
}
