import { Buffer } from "node:buffer";
import { decodeBeginning, parseEncodings } from "../../net/body/content_encoding.ts";
import type { ApiClient } from "../api/mod.ts";
import type { CaptureRecord } from "./records.ts";

/** Most body bytes that are shown, both encoded and decoded. */
const SHOWN_BYTES = 256 * 1024;

/** A body or its beginning. */
export interface ShownBody {
  bytes: Uint8Array<ArrayBuffer>;
  isWhole: boolean;
  /** The whole body's bytes; null when unknown. */
  size: number | null;
  /** The content encodings that were decoded. */
  decodedFrom?: string;
}

/**
 * Decodes a body for display.
 * @param body the encoded bytes, which are returned when their Content-Encoding is wrong or unknown
 */
export async function decodeShown(
  body: ShownBody,
  headers: readonly (readonly [name: string, value: string])[],
): Promise<ShownBody> {
  const fields = headers.filter(([name]) => name.toLowerCase() === "content-encoding").map(([, value]) => value);
  const encodings = parseEncodings(fields);
  if (encodings === null || encodings.length === 0 || body.bytes.length === 0) return body;
  const plain = await decodeBeginning(body.bytes, encodings, SHOWN_BYTES);
  if (plain === null) return body;
  const { bytes } = plain, isWhole = plain.isWhole && body.isWhole;
  return { bytes, isWhole, size: isWhole ? bytes.length : null, decodedFrom: encodings.join(", ") };
}

/** Loads a decoded body, or a long one's beginning. @throws errors from the API */
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
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of streamCaptured(api, viewId, capture)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= SHOWN_BYTES) break;
  }
  const bytes = Uint8Array.from(Buffer.concat(chunks)).subarray(0, SHOWN_BYTES);
  return { bytes, isWhole: bytes.length === all, size: all };
}

/** Streams a body of any length. @throws errors from the API */
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
