import { HttpError } from "../../../common/http_error.ts";
import type { AdoptedFile, Scratch, ScratchFile } from "./scratch.ts";
import { cancelQuietly, openSource, PieceWriter, type UploadBody, type UploadSource } from "./upload_body.ts";

/** An upload that has become a file. */
export interface Completed {
  tag: string;
  /** Bytes. */
  size: number;
  /** Whether there was no file of that name before. */
  isNew: boolean;
}

/** Finished uploads that are remembered, the last ones. */
const MAX_COMPLETED = 4096;
/** Uploads kept at most, and how long one that nobody continues is kept. */
const MAX_UPLOADS = 512;
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Uploads that are under way or were cut off, each under the path it goes to and the id its sender gave it. There is
 * room for so many: what was cut off longest ago goes first.
 */
export class UploadStore {
  readonly #scratch: Scratch;
  readonly #uploads = new Map<string, PartialUpload>();
  readonly #completed = new Map<string, Promise<Completed | undefined>>();

  /** Goes on with what an earlier run of the share has kept. */
  constructor(scratch: Scratch) {
    this.#scratch = scratch;
    for (const file of scratch.adopt()) this.#adopt(file);
  }

  #adopt(file: AdoptedFile): void {
    const note = parseNote(file.note);
    const isExpired = Date.now() - file.modified > KEPT_MS;
    if (note === null || isExpired || file.size > note.total || this.#uploads.size >= MAX_UPLOADS) {
      file.close();
      file.remove();
    } else this.#uploads.set(note.key, new PartialUpload(file, note.total, file.size));
  }

  /**
   * Starts anew under `key`, of a file for the folder `toward`; an older one of that key is interrupted and forgotten.
   * One that is `kept` outlives this run of the share. Throws 503 when too many run, 507 when there is no space, and the
   * system's errors.
   */
  async start(
    key: string,
    toward: readonly string[],
    total: number | null,
    isKept: boolean,
  ): Promise<PartialUpload> {
    const older = this.#uploads.get(key);
    if (older !== undefined) await this.discard(key, older);
    await this.#makeRoom();
    const upload = new PartialUpload(await this.#scratch.create(toward, total ?? 0), total);
    if (isKept) upload.keep(JSON.stringify({ key, total }));
    this.#uploads.set(key, upload);
    return upload;
  }

  async #makeRoom(): Promise<void> {
    const idle = [...this.#uploads].filter(([, upload]) => !upload.isBusy).sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const expired = idle.filter(([, upload]) => Date.now() - upload.usedAt > KEPT_MS);
    const excess = idle.slice(0, Math.max(0, this.#uploads.size - MAX_UPLOADS + 1));
    for (const [key, upload] of new Set([...expired, ...excess])) await this.discard(key, upload);
    if (this.#uploads.size < MAX_UPLOADS) return;
    throw new HttpError(503, "too_many_uploads", "Too many uploads are under way; try again.", {
      headers: { "retry-after": "5" },
    });
  }

  /** The upload under way, or cut off, of that key. */
  get(key: string): PartialUpload | undefined {
    return this.#uploads.get(key);
  }

  /**
   * Takes an upload whose bytes are all here out of the store and runs `commit`, which gives it its name and returns
   * the entity tag. What came of it is remembered, for a sender that did not hear of it.
   */
  complete(key: string, upload: PartialUpload, commit: () => Promise<Completed>): Promise<Completed> {
    this.#forget(key, upload);
    const running = commit();
    this.#completed.delete(key);
    this.#completed.set(key, running.catch(() => undefined));
    if (this.#completed.size > MAX_COMPLETED) this.#completed.delete(this.#completed.keys().next().value ?? key);
    return running;
  }

  /** What came of an upload that is complete; waits while it is being completed. */
  async getCompleted(key: string): Promise<Completed | undefined> {
    return await this.#completed.get(key);
  }

  /** Interrupts and removes it. */
  async discard(key: string, upload: PartialUpload): Promise<void> {
    this.#forget(key, upload);
    await upload.discard();
  }

  #forget(key: string, upload: PartialUpload): void {
    if (this.#uploads.get(key) === upload) this.#uploads.delete(key);
  }

  /** Interrupts all, and removes those that are not kept. */
  async close(): Promise<void> {
    await Promise.all([...this.#uploads.values()].map((upload) => upload.leave()));
    this.#uploads.clear();
  }
}

/** What is written beside a file that outlives the run. Null for anything else. */
function parseNote(text: string): { key: string; total: number } | null {
  try {
    const { key, total } = JSON.parse(text);
    return typeof key === "string" && Number.isSafeInteger(total) ? { key, total } : null;
  } catch {
    // Cut off while it was written.
    return null;
  }
}

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
