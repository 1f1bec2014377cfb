import { Buffer } from "node:buffer";
import type { ReplayedJson } from "../../../common/captures/capture_json.ts";
import { decodeBeginning, decodeBody, NotDecoded, parseEncodings } from "../../../net/body/content_encoding.ts";
import { BodyCut } from "../../../net/listener/mod.ts";
import type { OpenedCapture } from "../../store/mod.ts";
import { codingUnknown, notDecoded } from "../errors.ts";

/** Bytes that decoding may produce: a few megabytes can expand to gigabytes. */
export const MAX_DECODED = 64 * 1024 * 1024;
/** Decoded bytes from the beginning of a response. */
const MAX_BEGINNING = 512 * 1024;

/** A decoded body whose first chunk is known. */
export interface BegunBody {
  /** The first chunk, empty for an empty body. */
  first: Uint8Array<ArrayBuffer>;
  /** The remaining chunks. @throws BodyCut for corrupt data, or beyond {@link MAX_DECODED} */
  rest: AsyncGenerator<Uint8Array<ArrayBuffer>, void>;
}

/**
 * Undoes the Content-Encoding of a captured body.
 * @param body the captured bytes
 * @throws HttpError 415 `coding_unknown`, 422 `not_decoded`, and errors from `body`
 */
export async function beginDecoded(
  { headers }: Pick<OpenedCapture, "headers">,
  body: AsyncIterable<Uint8Array>,
): Promise<BegunBody> {
  const fields = headers.filter((_, at) => at % 2 === 1 && isCoding(headers[at - 1]));
  const codings = parseEncodings(fields);
  if (codings === null) throw codingUnknown(fields.join(", "));
  const rest = cutWhatIsNotDecoded(decodeBody(body, codings, MAX_DECODED));
  try {
    const { done, value } = await rest.next();
    return { first: done ? new Uint8Array(0) : value, rest };
  } catch (error) {
    throw error instanceof BodyCut && error.cause instanceof NotDecoded ? notDecoded(error.cause) : error;
  }
}

async function* cutWhatIsNotDecoded<T>(chunks: AsyncIterable<T>): AsyncGenerator<T, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw error instanceof NotDecoded ? new BodyCut(error.message, { cause: error }) : error;
  }
}

/** Decodes the beginning of a response, as far as possible. */
export async function decodeResponse(
  headers: readonly (readonly [string, string])[],
  { body, isWhole }: { body: Uint8Array; isWhole: boolean },
): Promise<Pick<ReplayedJson, "decoded" | "decodedTruncated">> {
  const codings = parseEncodings(headers.filter(([name]) => isCoding(name)).map(([, value]) => value));
  if (codings === null || codings.length === 0 || body.length === 0) return {};
  const plain = await decodeBeginning(body, codings, MAX_BEGINNING);
  if (plain === null || plain.bytes.length === 0) return {};
  const isAll = plain.isWhole && isWhole;
  return { decoded: Buffer.from(plain.bytes).toString("base64"), ...(!isAll && { decodedTruncated: true }) };
}

const isCoding = (name: string): boolean => name.toLowerCase() === "content-encoding";
