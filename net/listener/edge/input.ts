import { acquireBuffer, LARGE, MEDIUM, releaseBuffer, SMALL } from "../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../connection/mod.ts";
import { CR, findHeadEnd, LF, type RequestHead, RequestSyntaxError } from "../../http1/mod.ts";
import type { ListenerLimits } from "../limits.ts";
import { HEAD_TOO_LARGE } from "../_exchange.ts";

/** Bytes that are read beyond the limit of a head: the form of the error response depends on fields after a long target. */
const BEYOND_HEAD = 4096;
const NOTHING = new Uint8Array(0);

/** The bytes of a visitor that were read and not consumed: `buffer[start, end)`. A pending read appends to them. */
export class Input {
  #buffer: Uint8Array<ArrayBuffer> = acquireBuffer(SMALL);
  #start = 0;
  #end = 0;
  /** Bytes of an incomplete head that were searched for its end; 0 for a new head. */
  #searched = 0;
  /** Capacity for the next head, chosen by the last one. */
  #headSize = SMALL;
  /** The buffer of the running request's head, if it is no longer {@link #buffer}. */
  #headBuffer: Uint8Array<ArrayBuffer> | null = null;

  /** Whether all bytes were consumed. */
  get isEmpty(): boolean {
    return this.#start === this.#end;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** The free part of the buffer, for the next read. */
  get room(): Uint8Array<ArrayBuffer> {
    return this.#end === 0 ? this.#buffer : this.#buffer.subarray(this.#end);
  }

  /** Appends `count` bytes that a read wrote into {@link room}. */
  append(count: number): void {
    this.#end += count;
  }

  consume(count: number): void {
    this.#start += count;
  }

  /** Drops all bytes. Not while a read is pending. */
  clear(): void {
    this.#start = this.#end = 0;
  }

  /** Skips empty lines, which some programs send after a body (RFC 9112, section 2.2). */
  skipEmptyLines(): void {
    while (this.#end - this.#start >= 2 && this.#buffer[this.#start] === CR && this.#buffer[this.#start + 1] === LF) {
      this.#start += 2;
    }
  }

  /**
   * Parses a head, and consumes it once it is complete. Each byte of a head that arrives in parts is searched once.
   * @returns whether it is complete
   * @throws RequestSyntaxError for a malformed head, or one above the limits
   */
  parseHead(head: RequestHead, { maxHeadBytes, maxFields }: ListenerLimits): boolean {
    const start = this.#start, end = Math.min(this.#end, start + maxHeadBytes + BEYOND_HEAD);
    // The first half of an empty line.
    if (end - start === 1 && this.#buffer[start] === CR) return false;
    if (this.#searched > 0) {
      const found = findHeadEnd(this.#buffer, start, start + this.#searched, end);
      if (found < 0) return this.#noteSearched(end, maxHeadBytes);
    }
    this.#searched = 0;
    if (head.parse(this.#buffer, start, end, maxFields)) {
      const size = head.end - start;
      if (size > maxHeadBytes) throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
      this.#start = head.end;
      this.#headSize = size > SMALL / 2 ? MEDIUM : SMALL;
      return true;
    }
    if (findHeadEnd(this.#buffer, start, start, end) >= 0) {
      throw new RequestSyntaxError("The request's head is malformed.");
    }
    return this.#noteSearched(end, maxHeadBytes);
  }

  #noteSearched(end: number, maxHeadBytes: number): false {
    this.#searched = end - this.#start;
    if (this.#searched >= maxHeadBytes + BEYOND_HEAD) throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
    return false;
  }

  /** Makes room for the rest of a head. Not while a read is pending. */
  makeRoom(): void {
    const size = this.#end - this.#start;
    if (this.#start > 0) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
      [this.#start, this.#end] = [0, size];
    }
    if (size < this.#buffer.length) return;
    const larger = acquireBuffer(size + 1);
    larger.set(this.#buffer);
    releaseBuffer(this.#buffer);
    this.#buffer = larger;
  }

  /** Prepares a read while a request runs, whose head keeps its buffer. Only when all bytes were consumed. */
  startNextHead(): void {
    if (this.#headBuffer === null) {
      this.#headBuffer = this.#buffer;
      this.#buffer = acquireBuffer(this.#headSize);
    }
    this.clear();
  }

  /** Continues with `buffer[start, end)`, bytes that a body's buffer contains after its end. The buffer changes owner. */
  continueIn(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): void {
    this.#headBuffer ??= this.#buffer;
    [this.#buffer, this.#start, this.#end] = [buffer, start, end];
  }

  /** Frees the buffer of the running request's head. */
  releaseHead(): void {
    if (this.#headBuffer !== null) releaseBuffer(this.#headBuffer);
    this.#headBuffer = null;
  }

  /**
   * Stops reusing the buffers that a chunk of the body lies in, because its reader still holds the chunk.
   * @param isReading whether a read is pending; its buffer holds no chunks
   */
  leaveChunk(isReading: boolean): void {
    this.#headBuffer = null;
    if (isReading) return;
    const { bytes } = this;
    this.#buffer = acquireBuffer(bytes.length);
    this.#buffer.set(bytes);
    [this.#start, this.#end] = [0, bytes.length];
  }

  /** Prepares a read of bytes that are dropped: large, because a visitor may send much. */
  startDropping(): void {
    if (this.#buffer.length < LARGE) {
      releaseBuffer(this.#buffer);
      this.#buffer = acquireBuffer(LARGE);
    }
    this.clear();
  }

  /** Copies the last `count` bytes. */
  copyLast(count: number): Uint8Array {
    return this.#buffer.slice(this.#end - count, this.#end);
  }

  /** Frees the buffer. Nothing is read here any more. */
  release(): void {
    releaseBuffer(this.#buffer);
    this.#buffer = NOTHING;
    this.clear();
  }
}

/** A connection of an upgraded protocol. Bytes that the listener has read already come first. */
export class UpgradedConnection implements Connection {
  readonly #connection: Connection;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #onClose: () => void;
  #early: Uint8Array | null;
  /** Resolves when the listener's pending read has ended. */
  #pending: Promise<void> | null = null;
  #endPending: () => void = () => {};
  #isEnded = false;

  /**
   * @param write to the connection, with the clock on it
   * @param onClose called by {@link close}
   */
  constructor(
    connection: Connection,
    early: Uint8Array,
    write: (bytes: Uint8Array) => Promise<void>,
    onClose: () => void,
  ) {
    this.#connection = connection;
    this.#write = write;
    this.#early = early.length > 0 ? early : null;
    this.#onClose = onClose;
  }

  /** Waits for the listener's pending read, which {@link endEarlyRead} reports. */
  awaitEarlyRead(): void {
    this.#pending = new Promise((resolve) => this.#endPending = resolve);
  }

  /** Receives the bytes of that read, or null at the end. */
  endEarlyRead(bytes: Uint8Array | null): void {
    if (bytes === null) this.#isEnded = true;
    else this.#early = bytes;
    this.#pending = null;
    this.#endPending();
  }

  read(into: Uint8Array): Promise<number | null> {
    if (this.#early !== null) return Promise.resolve(this.#takeEarly(into, this.#early));
    if (this.#pending !== null) return this.#pending.then(() => this.read(into));
    return this.#isEnded ? Promise.resolve(null) : this.#connection.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  close(): void {
    this.#onClose();
  }

  /** The connection was closed: a waiting read ends. */
  lose(): void {
    this.#early = null;
    this.endEarlyRead(null);
  }

  #takeEarly(into: Uint8Array, early: Uint8Array): number {
    const count = Math.min(into.length, early.length);
    into.set(early.subarray(0, count));
    this.#early = count < early.length ? early.subarray(count) : null;
    return count;
  }
}
