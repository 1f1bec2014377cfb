import { HttpError } from "../../../common/http_error.ts";
import { PartialUpload } from "./partial_upload.ts";
import type { Scratch } from "./scratch.ts";

/** Uploads that are under way or were cut off, each under the path it goes to and the id its sender gave it. */
export interface UploadStore {
  /**
   * Starts anew under `key`, of a file for the folder `toward`; an older one of that key is interrupted and forgotten.
   * One that is `kept` outlives this run of the share. Throws 503 when too many run, 507 when there is no space, and the
   * system's errors.
   */
  start(key: string, toward: readonly string[], total: number | null, isKept: boolean): Promise<PartialUpload>;
  get(key: string): PartialUpload | undefined;
  /**
   * Takes an upload whose bytes are all here out of the store and runs `commit`, which gives it its name and returns
   * the entity tag. What came of it is remembered, for a sender that did not hear of it.
   */
  complete(key: string, upload: PartialUpload, commit: () => Promise<Completed>): Promise<Completed>;
  /** What came of an upload that is complete; waits while it is being completed. */
  getCompleted(key: string): Promise<Completed | undefined>;
  /** Interrupts and removes it. */
  discard(key: string, upload: PartialUpload): Promise<void>;
  /** Interrupts all, and removes those that are not kept. */
  close(): Promise<void>;
}

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

/** A store with bounded size: what was cut off longest ago makes room first. */
export function createUploadStore(scratch: Scratch): UploadStore {
  const uploads = new Map<string, PartialUpload>();
  const completed = new Map<string, Promise<Completed | undefined>>();

  for (const file of scratch.adopt()) {
    const note = parseNote(file.note);
    const isExpired = Date.now() - file.modified > KEPT_MS;
    if (note === null || isExpired || file.size > note.total || uploads.size >= MAX_UPLOADS) {
      file.close();
      file.remove();
    } else uploads.set(note.key, new PartialUpload(file, note.total, file.size));
  }

  async function start(
    key: string,
    toward: readonly string[],
    total: number | null,
    isKept: boolean,
  ): Promise<PartialUpload> {
    const older = uploads.get(key);
    if (older !== undefined) await discard(key, older);
    await makeRoom();
    const upload = new PartialUpload(scratch.create(toward, total ?? 0), total);
    if (isKept) upload.keep(JSON.stringify({ key, total }));
    uploads.set(key, upload);
    return upload;
  }

  async function makeRoom(): Promise<void> {
    const idle = [...uploads].filter(([, upload]) => !upload.isBusy).sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const expired = idle.filter(([, upload]) => Date.now() - upload.usedAt > KEPT_MS);
    const excess = idle.slice(0, Math.max(0, uploads.size - MAX_UPLOADS + 1));
    for (const [key, upload] of new Set([...expired, ...excess])) await discard(key, upload);
    if (uploads.size < MAX_UPLOADS) return;
    throw new HttpError(503, "too_many_uploads", "Too many uploads are under way; try again.", {
      headers: { "retry-after": "5" },
    });
  }

  function forget(key: string, upload: PartialUpload): void {
    if (uploads.get(key) === upload) uploads.delete(key);
  }

  function complete(key: string, upload: PartialUpload, commit: () => Promise<Completed>): Promise<Completed> {
    forget(key, upload);
    const running = commit();
    completed.delete(key);
    completed.set(key, running.catch(() => undefined));
    if (completed.size > MAX_COMPLETED) completed.delete(completed.keys().next().value ?? key);
    return running;
  }

  async function discard(key: string, upload: PartialUpload): Promise<void> {
    forget(key, upload);
    await upload.discard();
  }

  async function close(): Promise<void> {
    await Promise.all([...uploads.values()].map((upload) => upload.leave()));
    uploads.clear();
  }

  return {
    start,
    get: (key) => uploads.get(key),
    complete,
    getCompleted: async (key) => await completed.get(key),
    discard,
    close,
  };
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
