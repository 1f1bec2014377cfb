import type { OpenedCapture } from "../../store/mod.ts";
import { noSuchCapture, noSuchView } from "../errors.ts";
import type { Committer } from "../receive/committer.ts";

/** Where a call is kept once more, and its body copied from. */
export interface CaptureAgainOptions {
  committer: Committer;
  /** A piece of a long body by its number, or null behind the last. */
  readPiece(bodyId: string, number: number): Promise<Uint8Array | null>;
  /** Removes the pieces of a body that nobody will complete. Never rejects. */
  giveUp(bodyId: string): void;
  now(): number;
}

/**
 * Has a view capture a call once more, as if it had come again: whoever follows the view gets it. Says its cursor.
 * @throws HttpError 404 when the view or the capture has gone meanwhile
 */
export async function captureAgain(capture: OpenedCapture, options: CaptureAgainOptions): Promise<number> {
  const { cursor: _, ...call } = capture;
  const bodyId = capture.bodyId === null ? null : crypto.randomUUID();
  try {
    if (capture.bodyId !== null && bodyId !== null) await copyPieces(capture, capture.bodyId, bodyId, options);
    const cursor = await options.committer.keep({ ...call, bodyId, receivedAt: options.now() });
    if (cursor === null) throw noSuchView();
    return cursor;
  } catch (error) {
    if (bodyId !== null) options.giveUp(bodyId);
    throw error;
  }
}

async function copyPieces(
  { body, bodySize }: OpenedCapture,
  from: string,
  bodyId: string,
  { committer, readPiece, now }: CaptureAgainOptions,
): Promise<void> {
  const begunAt = now();
  let size = body.length;
  for (let number = 0; size < bodySize; number++) {
    const bytes = await readPiece(from, number);
    if (bytes === null) throw noSuchCapture();
    await committer.keepPiece({ bodyId, number, bytes, begunAt });
    size += bytes.length;
  }
}
