import fs from "node:fs";
import { isDiskFull } from "../disk/fs_error.ts";
import { HttpError } from "../../../common/http_error.ts";

/** A request body as `fetch` types it. */
export type UploadBody = ReadableStream<Uint8Array<ArrayBuffer>>;

/** An upload body, read through its fastest interface. */
export interface UploadSource {
  /**
   * Moves the available bytes to `output`; resolves with false at the end.
   * @param limit remaining bytes allowed
   * @throws HttpError 400 `body_too_long`, or `upload_cut` when the body breaks off
   */
  moveTo(output: PieceWriter, limit: number): Promise<boolean>;
  cancel(): Promise<void>;
}

/** Opens a body. A byte stream fills our buffer directly, at half the cost. */
export function openSource(body: UploadBody): UploadSource {
  const reader = openByteReader(body);
  return reader === null ? createPieceSource(body.getReader()) : createByteSource(reader);
}

function openByteReader(body: UploadBody): ReadableStreamBYOBReader | null {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    // The body is not a byte stream; only this attempt can detect that.
    return null;
  }
}

function createByteSource(reader: ReadableStreamBYOBReader): UploadSource {
  return {
    async moveTo(output, limit) {
      await output.makeRoom();
      // Request one extra byte to detect a body that exceeds the limit.
      const count = await whole(output.fill(reader, limit + 1));
      if (count !== null && count > limit) throw bodyTooLong();
      return count !== null;
    },
    cancel: () => reader.cancel(),
  };
}

function createPieceSource(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>): UploadSource {
  return {
    async moveTo(output, limit) {
      const { done, value } = await whole(reader.read());
      if (done) return false;
      if (value.length > limit) throw bodyTooLong();
      await output.add(value);
      return true;
    },
    cancel: () => reader.cancel(),
  };
}

/** Cancels an unneeded source. */
export async function cancelQuietly(source: UploadSource | null): Promise<void> {
  // The body of a disconnected client cannot be cancelled, but it has ended.
  await source?.cancel().catch(() => {});
}

async function whole<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw new HttpError(400, "upload_cut", "The upload ended before all of it had come.", { cause });
  }
}

function bodyTooLong(): HttpError {
  return new HttpError(400, "body_too_long", "The body is longer than it was announced to be.");
}

/** Bytes buffered per write. Smaller writes cost more than the data. */
const PIECE = 1024 * 1024;
/** The first buffer, sufficient for most files. */
const FIRST_PIECE = 64 * 1024;
/** Longest delay in milliseconds before buffered bytes are written, so that an interruption loses little. */
const MAX_WAIT_MS = 500;

const NOTHING = new Uint8Array(0);

/** Writes a file's chunks in order. One buffer is written while the other one is filled. */
export class PieceWriter {
  readonly #fd: number;
  #sent: number;
  #filling: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_PIECE);
  #filled = 0;
  #resting: Uint8Array<ArrayBuffer> | null = null;
  #written: Promise<void> = Promise.resolve();
  #sentAt = performance.now();

  readonly #reclaim: () => Promise<boolean>;

  /** @param reclaim frees space on a full disk; resolves with false when it cannot */
  constructor(fd: number, start: number, reclaim: () => Promise<boolean>) {
    this.#fd = fd;
    this.#sent = start;
    this.#reclaim = reclaim;
  }

  /** The offset for the next byte. */
  get end(): number {
    return this.#sent + this.#filled;
  }

  /**
   * Copies `bytes` into the buffer; waits while both buffers are in use.
   * @throws the system's errors, including those from earlier chunks
   */
  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#filled === this.#filling.length) await this.#turn();
      const count = Math.min(bytes.length - at, this.#filling.length - this.#filled);
      this.#filling.set(bytes.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
    }
  }

  /** Ensures that the buffer has room for {@link fill}. */
  async makeRoom(): Promise<void> {
    const isLate = this.#filled > 0 && performance.now() - this.#sentAt > MAX_WAIT_MS;
    if (isLate || this.#filled === this.#filling.length) await this.#turn();
  }

  /**
   * Reads up to `limit` bytes directly into the buffer. Returns their number, or null at the end. A failed read
   * detaches the buffer, and its bytes do not count as written.
   */
  async fill(reader: ReadableStreamBYOBReader, limit: number): Promise<number | null> {
    const [buffer, filled] = [this.#filling, this.#filled];
    [this.#filling, this.#filled] = [NOTHING, 0];
    const { done, value } = await reader.read(buffer.subarray(filled, Math.min(buffer.length, filled + limit)));
    if (value === undefined) return null;
    this.#filling = new Uint8Array(value.buffer);
    this.#filled = filled + value.length;
    return done ? null : value.length;
  }

  /** Resolves when all bytes have been written. */
  async flush(): Promise<void> {
    await this.#turn();
    await this.#written;
  }

  /** Waits for pending writes and discards the remaining bytes. */
  async settle(): Promise<void> {
    this.#filled = 0;
    await this.#written;
  }

  /** Starts the write of the filled buffer and switches to the other one. */
  async #turn(): Promise<void> {
    await this.#written;
    if (this.#filled === 0) {
      if (this.#filling.length === 0) this.#filling = new Uint8Array(PIECE);
      return;
    }
    const [full, length] = [this.#filling, this.#filled];
    this.#written = this.#writeAll(full.subarray(0, length), this.#sent);
    // The next waiter receives the error. Until then the rejection must count as handled.
    this.#written.catch(() => {});
    this.#filling = this.#resting ?? new Uint8Array(PIECE);
    this.#resting = full.length === PIECE ? full : null;
    this.#sent += length;
    this.#filled = 0;
    this.#sentAt = performance.now();
  }

  async #writeAll(bytes: Uint8Array, start: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      try {
        done += await writeSome(this.#fd, bytes, done, start + done);
      } catch (error) {
        if (!isDiskFull(error) || !await this.#reclaim()) throw error;
      }
    }
  }
}

function writeSome(fd: number, bytes: Uint8Array, from: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, from, bytes.length - from, position, (error, count) => error ? reject(error) : resolve(count));
  });
}
