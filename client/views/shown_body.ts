import { decodeBeginning, parseEncodings } from "../../net/body/content_encoding.ts";

/** Bytes of a captured body that are shown at most: as it came, and as its coding is undone. */
export const SHOWN_BYTES = 256 * 1024;

/** A body, or its beginning. */
export interface ShownBody {
  bytes: Uint8Array<ArrayBuffer>;
  isWhole: boolean;
  /** Bytes of all of it; null where nobody knows. */
  size: number | null;
  /** The codings that were undone, where there were some. */
  decodedFrom?: string;
}

/**
 * A body as people read it: without its Content-Encoding, as far as that can be undone.
 * @param body with the bytes as they came; of one that is not what it says it is given back
 */
export async function decodeShown(
  body: ShownBody,
  headers: readonly (readonly [name: string, value: string])[],
): Promise<ShownBody> {
  const fields = headers.filter(([name]) => name.toLowerCase() === "content-encoding").map(([, value]) => value);
  const codings = parseEncodings(fields);
  if (codings === null || codings.length === 0 || body.bytes.length === 0) return body;
  const plain = await decodeBeginning(body.bytes, codings, SHOWN_BYTES);
  if (plain === null) return body;
  const { bytes } = plain, isWhole = plain.isWhole && body.isWhole;
  return { bytes, isWhole, size: isWhole ? bytes.length : null, decodedFrom: codings.join(", ") };
}
