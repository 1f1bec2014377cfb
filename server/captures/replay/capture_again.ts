import type { OpenedCapture } from "../../store/mod.ts";
import { noSuchCapture, noSuchView } from "../errors.ts";
import type { Committer } from "../receive/committer.ts";

/** Dependencies for storing a call again. */
export interface CaptureAgainOptions {
  committer: Committer;
  /** Returns a chunk by its number, or null behind the last one. */
  readChunk(bodyId: string, number: number): Promise<Uint8Array | null>;
  /** Removes the chunks of an incomplete body. Never rejects. */
  giveUp(bodyId: string): void;
  now(): number;
}

/**
 * Stores a call again as if it had just arrived, so that followers receive it. Returns its cursor.
 * @throws HttpError 404 when the view or capture was deleted meanwhile
 */
export async function captureAgain(capture: OpenedCapture, options: CaptureAgainOptions): Promise<number> {
  const { cursor: _, ...call } = capture;
  const bodyId = capture.bodyId === null ? null : crypto.randomUUID();
  try {
    if (capture.bodyId !== null && bodyId !== null) await copyChunks(capture, capture.bodyId, bodyId, options);
    const cursor = await options.committer.keep({ ...call, bodyId, receivedAt: options.now() });
    if (cursor === null) throw noSuchView();
    return cursor;
  } catch (error) {
    if (bodyId !== null) options.giveUp(bodyId);
    throw error;
  }
}

async function copyChunks(
  { body, bodySize }: OpenedCapture,
  from: string,
  bodyId: string,
  { committer, readChunk, now }: CaptureAgainOptions,
): Promise<void> {
  const begunAt = now();
  let size = body.length;
  for (let number = 0; size < bodySize; number++) {
    const bytes = await readChunk(from, number);
    if (bytes === null) throw noSuchCapture();
    await committer.keepChunk({ bodyId, number, bytes, begunAt });
    size += bytes.length;
  }
}
