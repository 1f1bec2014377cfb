import { HttpError } from "../../../common/http_error.ts";
import type { ScratchFile } from "./scratch.ts";
import { cancelQuietly, openSource, PieceWriter, type UploadBody, type UploadSource } from "./upload_body.ts";

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

  /** An upload in a file that has `offset` bytes of it. The upload owns the file from now on. */
  constructor(file: ScratchFile, total: number | null, offset = 0) {
    this.total = total;
    this.#file = file;
    this.#offset = offset;
  }

  /** Makes it outlive this run of the share, with a note of what it is. Throws the system's errors. */
  keep(note: string): void {
    this.#file.keep(note);
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
    const source = body === null ? null : openSource(body);
    const writer: Writer = { isInterrupted: false, stop: () => cancelQuietly(source), ended: ended.promise };
    this.#writer = writer;
    try {
      if (source !== null) await this.#copy(source, limit);
    } catch (error) {
      await cancelQuietly(source);
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

  /** Ends a body that is being written and closes the file; one that is kept stays where it is. */
  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.interrupt();
    this.#file.close();
  }

  /** Closes the file, which has got its name. */
  finish(): void {
    this.#isClosed = true;
    this.#file.close();
    this.#file.remove();
  }

  async #copy(source: UploadSource, limit: number): Promise<void> {
    const start = this.#offset;
    const output = new PieceWriter(this.fd, start, () => this.#file.reclaim());
    try {
      while (await source.moveTo(output, limit - (output.end - start)));
      await output.flush();
    } catch (error) {
      const isTooLong = error instanceof HttpError && error.code === "body_too_long";
      if (isTooLong) await output.settle();
      else await output.flush();
      this.#offset = isTooLong ? start : output.end;
      throw error;
    }
    this.#offset = output.end;
  }
}

interface Writer {
  isInterrupted: boolean;
  stop(): Promise<void>;
  ended: Promise<void>;
}

function takenOver(): HttpError {
  return new HttpError(409, "upload_taken_over", "Another request continues this upload.");
}
