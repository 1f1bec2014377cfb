/** Bytes of a body that lie with its capture; what goes beyond is kept in pieces. */
export const INLINE_BYTES = 64 * 1024;

/** Deleted captures of one view that can be restored. */
export const MAX_RESTORABLE = 20;

/** What came over the wire, without the body. */
export interface CaptureHead {
  /** Unix milliseconds. */
  receivedAt: number;
  method: string;
  /** Path and query as they were sent, one character a byte. */
  path: string;
  host: string;
  httpVersion: string;
  /** Names and values in turn, in their order and case, duplicates too, one character a byte. */
  headers: readonly string[];
  /** Of the sender. */
  address: string;
  contentType: string | null;
  /** Bytes. */
  bodySize: number;
}

/** A call that is to be kept. */
export interface NewCapture extends CaptureHead {
  viewId: string;
  /** The body up to {@link INLINE_BYTES}. */
  body: Uint8Array;
  /** Of the pieces behind that, which are there already; null where there are none. */
  bodyId: string | null;
  /** Trailer fields in the form of {@link CaptureHead.headers}. */
  trailers: readonly string[];
}

/** A kept call without its body. */
export interface Capture extends CaptureHead {
  viewId: string;
  /** Its number within its view: later ones have higher ones, and none is ever used again. */
  cursor: number;
  bodyId: string | null;
}

/** A kept call with the beginning of its body, up to {@link INLINE_BYTES}. */
export interface OpenedCapture extends Capture {
  body: Uint8Array;
  /** Trailer fields in the form of {@link CaptureHead.headers}. */
  trailers: readonly string[];
}

/** A part of a long body, by its place behind what lies with the capture. */
export interface BodyPiece {
  bodyId: string;
  /** Counts from 0. */
  number: number;
  bytes: Uint8Array;
  /** When the first piece of this body was kept, Unix milliseconds. */
  begunAt: number;
}

/** What one commit keeps. */
export interface CaptureBatch {
  captures: readonly NewCapture[];
  pieces: readonly BodyPiece[];
}

/** Which captures of a view are wanted. Cursors and times bound without being part, `from` excepted. */
export interface CaptureFilter {
  after?: number;
  before?: number;
  method?: string;
  /** Unix milliseconds, included. */
  from?: number;
  /** Unix milliseconds, not included. */
  to?: number;
}

/** Calls that views captured. */
export interface Captures {
  /**
   * Keeps a batch, all of it or nothing, and makes room where a view has more than it may: its oldest go.
   * @param maxBytes of one view
   * @returns for each capture its cursor, or null where its view is gone
   */
  keep(batch: CaptureBatch, maxBytes: number): Promise<(number | null)[]>;
  /** Newest first, without bodies. */
  list(viewId: string, filter: CaptureFilter, limit: number): Promise<Capture[]>;
  /** {@link list} with the beginnings of bodies. */
  listOpened(viewId: string, filter: CaptureFilter, limit: number): Promise<OpenedCapture[]>;
  /** What came after a cursor, oldest first, with the beginnings of bodies. */
  listAfter(viewId: string, cursor: number, limit: number): Promise<OpenedCapture[]>;
  /** The cursor of the newest capture that was received before `time`, in Unix milliseconds; 0 for none. */
  lastBefore(viewId: string, time: number): Promise<number>;
  /** One capture with its body, where that is short enough to lie with it; null for none. */
  find(viewId: string, cursor: number): Promise<OpenedCapture | null>;
  /** A piece of a long body by its number, or null behind the last. */
  readPiece(bodyId: string, number: number): Promise<Uint8Array | null>;
  /** Removes captures by their cursors, at most some hundred. @returns the number of those that existed */
  removeThese(viewId: string, cursors: readonly number[]): Promise<number>;
  /**
   * Removes one capture in a way that {@link restore} can undo. The newest {@link MAX_RESTORABLE} of a view can be restored.
   * @param now Unix milliseconds
   */
  setAside(viewId: string, cursor: number, now: number): Promise<boolean>;
  /** Restores a capture that {@link setAside} removed. @returns false where it is not there any more */
  restore(viewId: string, cursor: number): Promise<boolean>;
  /** Removes all that a view has now, in steps. Says how many there were. */
  removeAll(viewId: string): Promise<number>;
  /** Removes the pieces of a body that nobody will complete. */
  removeUpload(bodyId: string): Promise<void>;
  /**
   * Removes, in steps, what has outlived its view's days or its view, what is left of bodies that were begun before
   * `uploadsBefore`, and captures that were set aside before `removedBefore`.
   */
  sweep(now: number, uploadsBefore: number, removedBefore: number): Promise<void>;
}
