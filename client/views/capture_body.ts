import { Buffer } from "node:buffer";
import type { ApiClient } from "../api/mod.ts";
import type { CaptureRecord } from "./records.ts";

/** Bytes of a long body that are fetched to be shown. */
const SHOWN_BYTES = 256 * 1024;

/** A body, or its beginning. */
export interface ShownBody {
  bytes: Uint8Array<ArrayBuffer>;
  isWhole: boolean;
}

/** The body for looking at: of a long one the beginning. @throws what the API does */
export async function loadShownBody(
  api: Pick<ApiClient, "stream">,
  viewId: string,
  capture: CaptureRecord,
): Promise<ShownBody> {
  if (capture.body !== null) return { bytes: Uint8Array.from(Buffer.from(capture.body, "base64")), isWhole: true };
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of streamCaptured(api, viewId, capture)) {
    pieces.push(piece);
    size += piece.length;
    if (size >= SHOWN_BYTES) break;
  }
  return { bytes: Uint8Array.from(Buffer.concat(pieces)).subarray(0, SHOWN_BYTES), isWhole: size === capture.bodySize };
}

/** The bytes of a body, however long it is. @throws what the API does */
export async function* streamCaptured(
  api: Pick<ApiClient, "stream">,
  viewId: string,
  { id, body }: CaptureRecord,
): AsyncGenerator<Uint8Array, void> {
  if (body !== null) return yield Buffer.from(body, "base64");
  const stream = await api.stream(`/api/v1/views/${viewId}/captures/${id}/body`);
  try {
    yield* stream.body;
  } finally {
    stream.close();
  }
}
