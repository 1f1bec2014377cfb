import { HttpError } from "../../../common/http_error.ts";
import type { AdoptedFile, Scratch, ScratchFile } from "./scratch.ts";
import { cancelQuietly, openSource, PieceWriter, type UploadBody, type UploadSource } from "./upload_body.ts";

/** A completed upload. */
export interface Completed {
  tag: string;
  /** Bytes. */
  size: number;
  /** Whether the file is new. */
  isNew: boolean;
}

/** Completed uploads remembered, newest first. */
const MAX_COMPLETED = 4096;
/** Stored uploads at most, and the lifetime of an idle upload. */
const MAX_UPLOADS = 512;
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Running and interrupted uploads, by destination path and client id. When the store is full, the oldest interrupted
 * upload is removed.
 */
export class UploadStore {
  readonly #scratch: Scratch;
  readonly #uploads = new Map<string, PartialUpload>();
  readonly #completed = new Map<string, Promise<Completed | undefined>>();

  /** Restores the uploads that an earlier run preserved. */
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
   * Starts a new upload under `key` for a file in the folder `toward` and discards an older upload with that key. A
   * `kept` upload outlives this run of the share. Throws 503 when too many uploads run, 507 when the disk lacks space,
   * and the system's errors.
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

  /** Returns the running or interrupted upload with that key. */
  get(key: string): PartialUpload | undefined {
    return this.#uploads.get(key);
  }

  /**
   * Removes a complete upload from the store and runs `commit`, which renames the file and returns the entity tag. The
   * result is remembered for a client that missed the response.
   */
  complete(key: string, upload: PartialUpload, commit: () => Promise<Completed>): Promise<Completed> {
    this.#forget(key, upload);
    const running = commit();
    this.#completed.delete(key);
    this.#completed.set(key, running.catch(() => undefined));
    if (this.#completed.size > MAX_COMPLETED) this.#completed.delete(this.#completed.keys().next().value ?? key);
    return running;
  }

  /** Returns the result for a completed upload; waits while it is being completed. */
  async getCompleted(key: string): Promise<Completed | undefined> {
    return await this.#completed.get(key);
  }

  /** Interrupts and removes the upload. */
  async discard(key: string, upload: PartialUpload): Promise<void> {
    this.#forget(key, upload);
    await upload.discard();
  }

  #forget(key: string, upload: PartialUpload): void {
    if (this.#uploads.get(key) === upload) this.#uploads.delete(key);
  }

  /** Interrupts all uploads and removes those that are not kept. */
  async close(): Promise<void> {
    await Promise.all([...this.#uploads.values()].map((upload) => upload.leave()));
    this.#uploads.clear();
  }
}

/** Parses the note beside a preserved file; null when it is invalid. */
function parseNote(text: string): { key: string; total: number } | null {
  try {
    const { key, total } = JSON.parse(text);
    return typeof key === "string" && Number.isSafeInteger(total) ? { key, total } : null;
  } catch {
    // The note was truncated.
    return null;
  }
}

/**
 * An unfinished upload: a scratch file holds bytes from 0 to `offset`. One body is written at a time. The newest body
 * wins, because an interrupted older one may look alive for minutes.
 */
export class PartialUpload {
  /** Total length in bytes, or null when the client did not announce it. */
  readonly total: number | null;
  readonly #file: ScratchFile;
  #offset = 0;
  #writer: Writer | null = null;
  #usedAt = Date.now();
  #isClosed = false;

  /** Creates an upload from a file with `offset` bytes. The upload then owns the file. */
  constructor(file: ScratchFile, total: number | null, offset = 0) {
    this.total = total;
    this.#file = file;
    this.#offset = offset;
  }

  /** Preserves the upload after this run of the share, with a descriptive note. Throws the system's errors. */
  keep(note: string): void {
    this.#file.keep(note);
  }

  /** Bytes in the file. */
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

  /** Last write, in milliseconds since the epoch. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** Stops the active body and keeps its bytes. Resolves when no write is pending. */
  async interrupt(): Promise<void> {
    const writer = this.#writer;
    if (writer === null) return;
    writer.isInterrupted = true;
    await writer.stop();
    await writer.ended;
  }

  /**
   * Appends a body. Bytes of an interrupted body stay; a body that exceeds its announced length is discarded.
   * @param start the offset of the body
   * @param limit maximum length of the body in bytes
   * @throws HttpError 400 `body_too_long` or `upload_cut`, 409 `upload_taken_over`; the system's errors
   */
  async append(body: UploadBody | null, start: number, limit: number): Promise<void> {
    // Two requests can reach this point for the same offset; the first one becomes the writer.
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

  /** Stops the active body, then closes and removes the file. Later appends are refused. */
  async discard(): Promise<void> {
    this.#isClosed = true;
    await this.interrupt();
    this.#file.close();
    this.#file.remove();
  }

  /** Stops the active body and closes the file; a kept file stays on disk. */
  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.interrupt();
    this.#file.close();
  }

  /** Closes the renamed file. */
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
