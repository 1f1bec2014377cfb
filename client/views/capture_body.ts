import { Buffer } from "node:buffer";
import type { ApiClient } from "../api/mod.ts";
import { decodeShown, SHOWN_BYTES, type ShownBody } from "./shown_body.ts";
import type { CaptureRecord } from "./records.ts";

/** The body for looking at, without its coding: of a long one the beginning. @throws what the API does */
export async function loadShownBody(
  api: Pick<ApiClient, "stream">,
  viewId: string,
  capture: CaptureRecord,
): Promise<ShownBody> {
  return await decodeShown(await loadBeginning(api, viewId, capture), capture.headers);
}

async function loadBeginning(
  api: Pick<ApiClient, "stream">,
  viewId: string,
  capture: CaptureRecord,
): Promise<ShownBody> {
  const all = capture.bodySize;
  if (capture.body !== null) {
    return { bytes: Uint8Array.from(Buffer.from(capture.body, "base64")), isWhole: true, size: all };
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of streamCaptured(api, viewId, capture)) {
    pieces.push(piece);
    size += piece.length;
    if (size >= SHOWN_BYTES) break;
  }
  const bytes = Uint8Array.from(Buffer.concat(pieces)).subarray(0, SHOWN_BYTES);
  return { bytes, isWhole: bytes.length === all, size: all };
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
