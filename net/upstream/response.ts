import { Buffer } from "node:buffer";
import { type ChunkedDecoder, createChunkedDecoder, type ResponseHead } from "../http1/mod.ts";
import type { UpstreamConnection } from "./connection.ts";
import { ConnectionBroken, NoResponse, type OutgoingRequest } from "./types.ts";

/** A final head, and the fields in it. */
export interface UpstreamHead {
  readonly head: ResponseHead;
  readonly statusText: string;
  /** As sent: order, case and duplicates kept. Bytes beyond ASCII are Latin-1. */
  readonly headers: [string, string][];
  /** Milliseconds that the upstream says it keeps the connection for. */
  readonly keepMs: number;
}

/** An answer that is described may have any status of three digits. */
const MAX_STATUS = 999;

/**
 * Reads the final head of an answer; those of 1xx before it are passed over. The connection's `start` is behind it then.
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

/** Whether there is more to parse. */
async function fill(connection: UpstreamConnection): Promise<boolean> {
  try {
    if (await connection.fill() !== null) return true;
  } catch (cause) {
    throw connection.hasResponded ? cause : new NoResponse("no answer", { cause });
  }
  if (!connection.hasResponded) throw new NoResponse("no answer");
  return false;
}

/** `HTTP/1.1 200 `, after which the reason phrase comes. */
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
/** The upstream may close a connection by its own clock while a request is on its way. */
const KEEP_MARGIN_MS = 1000;

function readKeepMs(value: string): number {
  const seconds = /\btimeout=(\d{1,9})\b/i.exec(value)?.[1];
  return seconds === undefined ? Infinity : Number(seconds) * 1000 - KEEP_MARGIN_MS;
}

/**
 * Bytes read at a time: few for a body that trickles, and more each time a read brings as many as it may. Reads of
 * half a megabyte cost a third less than reads of an eighth.
 */
const LEAST_READ = 64 * 1024;
const LARGEST_READ = 512 * 1024;
/** Pieces of one read that are passed on by themselves. More are joined: each would cost more than its bytes. */
const MAX_PIECES = 32;

/** The connection that a body is read from, and who hears of its end. */
export interface ResponseBodyOptions {
  connection: UpstreamConnection;
  head: ResponseHead;
  /** Called once, with whether the connection can carry another request. */
  onEnd(reusable: boolean): void;
  /** Turns what went wrong into what the reader is told. */
  explain(error: unknown): unknown;
}

const NO_TRAILERS = new Uint8Array(0);

/** The body of an answer, read from its connection as it is asked for. */
export class ResponseBody {
  readonly #options: ResponseBodyOptions;
  readonly #decoder: ChunkedDecoder | null;
  /** Bytes that are still to come; Infinity where only the connection's end or the last chunk tells. */
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
   * All bytes that are there, waiting for some when there are none; null at the end. One call at a time.
   * Rejects when the body broke off, and each time from then on.
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

  /** The field lines behind a body in chunks, each with its CRLF; to be used at its end. */
  get trailers(): Uint8Array {
    return this.#decoder?.trailers ?? NO_TRAILERS;
  }

  /** Gives the rest up. */
  cancel(): void {
    this.#end(false);
  }

  /** The bytes behind the head first, then what the connection brings. Null when the upstream has ended it. */
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

  /** Memory that is at least half full goes to the reader as it is; less is copied to its size. */
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
    // A connection closed from this side, as time was up, ends in the same way: that is no end of a body.
    const { head, connection } = this.#options;
    if (head.framing !== "close" || connection.isClosed) throw new ConnectionBroken("the answer was cut short");
    this.#end(false);
    return [];
  }

  /** The end of the body has been read. @param isClean nothing came behind it */
  #finish(isClean: boolean): void {
    this.#end(isClean && this.#options.head.keepAlive);
  }

  #end(reusable: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd(reusable);
  }
}
