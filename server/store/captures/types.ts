/** Bytes of a body in the capture's own row. Chunks hold the remaining bytes. */
export const INLINE_BYTES = 64 * 1024;

/** Deleted captures per view that can be restored. */
export const MAX_RESTORABLE = 20;

/** A call as received, without its body. */
export interface CaptureHead {
  /** Unix milliseconds. */
  receivedAt: number;
  method: string;
  /** Path and query as received, one character per byte. */
  path: string;
  host: string;
  httpVersion: string;
  /** Alternating names and values in their original order and case, with duplicates, one character per byte. */
  headers: readonly string[];
  /** The sender's address. */
  address: string;
  contentType: string | null;
  /** Bytes. */
  bodySize: number;
}

/** A call to store. */
export interface NewCapture extends CaptureHead {
  viewId: string;
  /** The body up to {@link INLINE_BYTES}. */
  body: Uint8Array;
  /** The id of the remaining chunks, which are already stored; null without chunks. */
  bodyId: string | null;
  /** Trailer fields in the form of {@link CaptureHead.headers}. */
  trailers: readonly string[];
}

/** A stored call without its body. */
export interface Capture extends CaptureHead {
  viewId: string;
  /** The number within the view. It only grows and is never reused. */
  cursor: number;
  bodyId: string | null;
}

/** A stored call with the beginning of its body, up to {@link INLINE_BYTES}. */
export interface OpenedCapture extends Capture {
  body: Uint8Array;
  /** Trailer fields in the form of {@link CaptureHead.headers}. */
  trailers: readonly string[];
}

/** A chunk of a long body, behind the bytes in the capture's row. */
export interface BodyChunk {
  bodyId: string;
  /** Counts from 0. */
  number: number;
  bytes: Uint8Array;
  /** The time of the body's first chunk, in Unix milliseconds. */
  begunAt: number;
}

/** The content of one commit. */
export interface CaptureBatch {
  captures: readonly NewCapture[];
  chunks: readonly BodyChunk[];
}

/** A filter for captures. All bounds are exclusive, except `from`. */
export interface CaptureFilter {
  after?: number;
  before?: number;
  method?: string;
  /** Unix milliseconds, inclusive. */
  from?: number;
  /** Unix milliseconds, exclusive. */
  to?: number;
}

/** Captured calls. */
export interface Captures {
  /**
   * Stores a batch in one transaction, and removes the oldest captures beyond a view's limits.
   * @param maxBytes per view
   * @returns the cursor for each capture, or null where the view was deleted
   */
  keep(batch: CaptureBatch, maxBytes: number): Promise<(number | null)[]>;
  /** Lists captures without bodies, newest first. */
  list(viewId: string, filter: CaptureFilter, limit: number): Promise<Capture[]>;
  /** Lists captures like {@link list}, with the beginnings of their bodies. */
  listOpened(viewId: string, filter: CaptureFilter, limit: number): Promise<OpenedCapture[]>;
  /** Lists captures behind a cursor, oldest first, with the beginnings of their bodies. */
  listAfter(viewId: string, cursor: number, limit: number): Promise<OpenedCapture[]>;
  /** Returns the newest cursor received before `time`, in Unix milliseconds; 0 if none. */
  lastBefore(viewId: string, time: number): Promise<number>;
  /** Finds a capture with the beginning of its body. */
  find(viewId: string, cursor: number): Promise<OpenedCapture | null>;
  /** Returns a chunk by its number, or null behind the last one. */
  readChunk(bodyId: string, number: number): Promise<Uint8Array | null>;
  /** Removes at most some hundred captures by cursor. @returns the number found */
  removeThese(viewId: string, cursors: readonly number[]): Promise<number>;
  /**
   * Removes a capture so that {@link restore} can undo it, for the newest {@link MAX_RESTORABLE} per view.
   * @param now Unix milliseconds
   */
  setAside(viewId: string, cursor: number, now: number): Promise<boolean>;
  /** Restores a capture that {@link setAside} removed. @returns false for a missing one */
  restore(viewId: string, cursor: number): Promise<boolean>;
  /** Removes all current captures of a view, in steps. Returns their number. */
  removeAll(viewId: string): Promise<number>;
  /** Removes the chunks of an incomplete body. */
  removeUpload(bodyId: string): Promise<void>;
  /**
   * Removes expired captures, captures from deleted views, incomplete bodies that began before `uploadsBefore`, and
   * restorable captures that were removed before `removedBefore`. Works in steps.
   */
  sweep(now: number, uploadsBefore: number, removedBefore: number): Promise<void>;
}
