import fs from "node:fs";
import { isDiskFull } from "../disk/fs_error.ts";
import { HttpError } from "../../../common/http_error.ts";

/** A request's body, as `fetch` types it. */
export type UploadBody = ReadableStream<Uint8Array<ArrayBuffer>>;

/** The body of an upload, read in the cheapest way that it offers. */
export interface UploadSource {
  /**
   * Moves what is there to `output`; false at the end.
   * @param limit bytes that may still come
   * @throws HttpError 400 `body_too_long`, or `upload_cut` when the body breaks off
   */
  moveTo(output: PieceWriter, limit: number): Promise<boolean>;
  cancel(): Promise<void>;
}

/** Opens a body. One that is a byte stream fills our buffer itself, at half the cost. */
export function openSource(body: UploadBody): UploadSource {
  const reader = openByteReader(body);
  return reader === null ? createPieceSource(body.getReader()) : createByteSource(reader);
}

function openByteReader(body: UploadBody): ReadableStreamBYOBReader | null {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    // Not a byte stream, which only trying tells.
    return null;
  }
}

function createByteSource(reader: ReadableStreamBYOBReader): UploadSource {
  return {
    async moveTo(output, limit) {
      await output.makeRoom();
      // One byte more than may come shows that there is more.
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

/** Ends a source that is no longer wanted. */
export async function cancelQuietly(source: UploadSource | null): Promise<void> {
  // A body whose visitor has left cannot be cancelled; it has ended all the same.
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

/** Bytes collected before they are written: a write of less costs more than what it writes. */
const PIECE = 1024 * 1024;
/** The first buffer, which is all that most files need. */
const FIRST_PIECE = 64 * 1024;
/** Bytes of a slow upload are written after so long, so that a cut loses little. */
const MAX_WAIT_MS = 500;

const NOTHING = new Uint8Array(0);

/** Writes pieces of a file in order: one buffer is on its way to the disk while the other is filled. */
export class PieceWriter {
  readonly #fd: number;
  #sent: number;
  #filling: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_PIECE);
  #filled = 0;
  #resting: Uint8Array<ArrayBuffer> | null = null;
  #written: Promise<void> = Promise.resolve();
  #sentAt = performance.now();

  readonly #reclaim: () => Promise<boolean>;

  /** @param reclaim frees space on a full disk; false when it cannot */
  constructor(fd: number, start: number, reclaim: () => Promise<boolean>) {
    this.#fd = fd;
    this.#sent = start;
    this.#reclaim = reclaim;
  }

  /** Where the next byte goes. */
  get end(): number {
    return this.#sent + this.#filled;
  }

  /**
   * Takes a copy of `bytes`, and waits where much is being written.
   * @throws the system's errors, of earlier pieces too
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

  /** Makes sure that there is room to {@link fill}. */
  async makeRoom(): Promise<void> {
    const isLate = this.#filled > 0 && performance.now() - this.#sentAt > MAX_WAIT_MS;
    if (isLate || this.#filled === this.#filling.length) await this.#turn();
  }

  /**
   * Reads straight into the buffer, at most `limit` bytes. Returns how many, or null at the end.
   * A read that fails takes the buffer with it: what was in it does not count as written.
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

  /** Resolves when everything has been written. */
  async flush(): Promise<void> {
    await this.#turn();
    await this.#written;
  }

  /** Waits for what is on its way and forgets the rest. */
  async settle(): Promise<void> {
    this.#filled = 0;
    await this.#written;
  }

  /** Sends what was collected on its way and goes on with the other buffer. */
  async #turn(): Promise<void> {
    await this.#written;
    if (this.#filled === 0) {
      if (this.#filling.length === 0) this.#filling = new Uint8Array(PIECE);
      return;
    }
    const [full, length] = [this.#filling, this.#filled];
    this.#written = this.#writeAll(full.subarray(0, length), this.#sent);
    // Whoever waits for it next hears of a failure; until then it must not count as unhandled.
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
