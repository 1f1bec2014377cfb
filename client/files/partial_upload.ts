import { Buffer } from "node:buffer";
import fs from "node:fs";
import { HttpError } from "../../common/http_error.ts";
import type { Scratch, ScratchFile } from "./scratch.ts";

/** Bytes collected before they are written: a write of less costs more than what it writes. */
const PIECE = 1024 * 1024;
/** The first buffer, which is all that most files need. */
const FIRST_PIECE = 64 * 1024;

export type UploadBody = ReadableStream<Uint8Array<ArrayBuffer>>;

/**
 * An upload that is not finished: bytes from 0 to `offset` are in a scratch file. One body is written at a time;
 * the newest wins, since after a cut the older one may look alive for minutes.
 */
export class PartialUpload {
  /** Length of the whole in bytes, or null when it was not announced. */
  readonly total: number | null;
  readonly #file: ScratchFile;
  #offset = 0;
  #writer: Writer | null = null;
  #usedAt = Date.now();
  #isClosed = false;

  constructor(scratch: Scratch, total: number | null) {
    this.total = total;
    this.#file = scratch.create();
  }

  /** Bytes that are in the file. */
  get offset(): number {
    return this.#offset;
  }

  get fd(): number {
    return this.#file.fd;
  }

  get path(): string {
    return this.#file.path;
  }

  get isBusy(): boolean {
    return this.#writer !== null;
  }

  /** When it was last written to, in milliseconds since the epoch. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** Ends the body that is being written, if any; what came of it stays. Resolves when nothing is written any more. */
  async interrupt(): Promise<void> {
    const writer = this.#writer;
    if (writer === null) return;
    writer.isInterrupted = true;
    await writer.stop();
    await writer.ended;
  }

  /**
   * Appends a body. What has arrived stays when it is cut off; of a body that is longer than announced
   * nothing stays.
   * @param start the offset that the body begins at
   * @param limit bytes the body may have at most
   * @throws HttpError 400 `body_too_long` or `upload_cut`, 409 `upload_taken_over`; the system's errors
   */
  async append(body: UploadBody | null, start: number, limit: number): Promise<void> {
    // Two requests can get here for the same offset: the first of them is the writer.
    if (this.#isClosed || this.#writer !== null || start !== this.#offset) throw takenOver();
    const ended = Promise.withResolvers<void>();
    const reader = body?.getReader();
    const writer: Writer = { isInterrupted: false, stop: () => cancelQuietly(reader), ended: ended.promise };
    this.#writer = writer;
    try {
      if (reader !== undefined) await this.#copy(reader, limit);
    } catch (error) {
      await cancelQuietly(reader);
      throw error;
    } finally {
      this.#writer = null;
      this.#usedAt = Date.now();
      ended.resolve();
    }
    if (writer.isInterrupted) throw takenOver();
  }

  /** Ends a body that is being written, then closes and removes the file. Nothing can be appended from now on. */
  async discard(): Promise<void> {
    this.#isClosed = true;
    await this.interrupt();
    this.#file.close();
    this.#file.remove();
  }

  /** Closes the file, which has got its name. */
  finish(): void {
    this.#isClosed = true;
    this.#file.close();
  }

  async #copy(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>, limit: number): Promise<void> {
    const start = this.#offset;
    const output = new PieceWriter(this.fd, start);
    try {
      for (let step = await readStep(reader); !step.done; step = await readStep(reader)) {
        if (output.end - start + step.value.length > limit) throw bodyTooLong();
        await output.add(step.value);
      }
    } catch (error) {
      await output.flush();
      this.#offset = error instanceof HttpError && error.code === "body_too_long" ? start : output.end;
      throw error;
    }
    await output.flush();
    this.#offset = output.end;
  }
}

interface Writer {
  isInterrupted: boolean;
  stop(): Promise<void>;
  ended: Promise<void>;
}

/** Writes pieces of a file in order: one buffer is on its way to the disk while the other is filled. */
class PieceWriter {
  /** Where the next byte goes. */
  end: number;
  readonly #fd: number;
  #filling = Buffer.allocUnsafeSlow(FIRST_PIECE);
  #resting: Buffer<ArrayBuffer> | null = null;
  #filled = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(fd: number, start: number) {
    this.#fd = fd;
    this.end = start;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#filled === this.#filling.length) await this.#turn();
      const count = Math.min(bytes.length - at, this.#filling.length - this.#filled);
      this.#filling.set(bytes.subarray(at, at + count), this.#filled);
      this.#filled += count;
      this.end += count;
      at += count;
    }
  }

  async flush(): Promise<void> {
    await this.#turn();
    await this.#written;
  }

  /** Sends what was collected on its way and goes on with the other buffer. */
  async #turn(): Promise<void> {
    await this.#written;
    if (this.#filled === 0) return;
    const [full, length] = [this.#filling, this.#filled];
    this.#written = writeAll(this.#fd, full.subarray(0, length), this.end - length);
    // Whoever waits for it next hears of a failure; until then it must not count as unhandled.
    this.#written.catch(() => {});
    this.#filling = this.#resting ?? Buffer.allocUnsafeSlow(PIECE);
    this.#resting = full.length === PIECE ? full : null;
    this.#filled = 0;
  }
}

async function writeAll(fd: number, bytes: Uint8Array, start: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += await writeSome(fd, bytes, done, start + done);
  }
}

function writeSome(fd: number, bytes: Uint8Array, from: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, from, bytes.length - from, position, (error, count) => error ? reject(error) : resolve(count));
  });
}

async function readStep(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new HttpError(400, "upload_cut", "The upload ended before all of it had come.", { cause });
  }
}

async function cancelQuietly(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined): Promise<void> {
  // A body whose visitor has left cannot be cancelled; it has ended all the same.
  await reader?.cancel().catch(() => {});
}

function takenOver(): HttpError {
  return new HttpError(409, "upload_taken_over", "Another request continues this upload.");
}

function bodyTooLong(): HttpError {
  return new HttpError(400, "body_too_long", "The body is longer than it was announced to be.");
}
