import fs from "node:fs";
import { isDiskFull } from "../disk/fs_error.ts";

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
