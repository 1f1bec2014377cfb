import { Buffer } from "node:buffer";
import { z } from "zod";
import { charsetOf, createTextDecoder } from "../../../common/readable/decode_text.js";
import { answerJson, type ProxyResponse } from "../response.ts";
import type { RequestDescription } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import type { DecodedBody } from "./decode.ts";

const milliseconds = z.number().min(0);
const bytes = z.int().min(0);

/** A whole answer as callers are told it; docs/guides/proxy/cors-proxy.md says what each field means. */
export const answerSchema = z.strictObject({
  status: z.int().min(200).max(999),
  statusText: z.string(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  body: z.string(),
  isBase64: z.boolean(),
  finalUrl: z.string(),
  redirects: z.array(
    z.strictObject({ status: z.int(), url: z.string(), location: z.string(), setCookie: z.array(z.string()) }),
  ),
  timings: z.strictObject({
    dnsMs: milliseconds,
    connectMs: milliseconds,
    firstByteMs: milliseconds,
    totalMs: milliseconds,
  }),
  size: z.strictObject({ headers: bytes, body: bytes, transferred: bytes }),
});

/** The whole answer of an upstream, described in JSON. */
export function jsonResponse(
  followed: FollowedResponse,
  body: DecodedBody,
  totalMs: number,
  responseType: RequestDescription["responseType"],
): ProxyResponse {
  const { answer } = followed;
  const contentType = answer.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  const description: z.infer<typeof answerSchema> = {
    status: answer.status,
    statusText: answer.statusText,
    headers: answer.headers,
    ...toBodyText(body.bytes, contentType, responseType),
    finalUrl: followed.finalUrl,
    redirects: followed.redirects,
    timings: { ...roundedTimings(followed), totalMs: round(totalMs) },
    size: {
      headers: headerBytes(answer.headers),
      body: body.bytes.byteLength,
      transferred: body.wireBytes,
    },
  };
  return answerJson(description);
}

/** Milliseconds with at most two decimals. */
export function roundedTimings(
  { dnsMs, connectMs, firstByteMs }: FollowedResponse,
): Omit<z.infer<typeof answerSchema>["timings"], "totalMs"> {
  return { dnsMs: round(dnsMs), connectMs: round(connectMs), firstByteMs: round(firstByteMs) };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

/** Bytes of the header lines as HTTP/1.1 writes them: name, colon, space, value, line end. */
function headerBytes(headers: readonly (readonly [string, string])[]): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

const TEXT_TYPES =
  /^(text\/|application\/(.+\+)?(json|xml|javascript|x-www-form-urlencoded|graphql|yaml|x-ndjson)\b|image\/svg)/i;
const STRICT = { fatal: true, ignoreBOM: true };
const utf8 = new TextDecoder("utf-8", STRICT);

/** A body as JSON can hold it: text where it is UTF-8, else Base64. */
export interface BodyText {
  body: string;
  isBase64: boolean;
}

/**
 * A body as JSON can carry it. `auto` gives text when the type says text, or says nothing, and the bytes are valid
 * in its charset; everything else is padded base64. `text` replaces what is not valid.
 */
function toBodyText(
  bytes: Uint8Array,
  contentType: string,
  wanted: RequestDescription["responseType"],
): BodyText {
  if (wanted === "base64") return toBase64(bytes);
  const charset = charsetOf(contentType);
  if (wanted === "text") {
    return { body: createTextDecoder(charset, { ignoreBOM: true }).decode(bytes), isBase64: false };
  }
  if (bytes.byteLength === 0) return { body: "", isBase64: false };
  if (contentType !== "" && !TEXT_TYPES.test(contentType)) return toBase64(bytes);
  try {
    const decoder = charset === null || /^utf-?8$/i.test(charset) ? utf8 : createTextDecoder(charset, STRICT);
    return { body: decoder.decode(bytes), isBase64: false };
  } catch {
    return toBase64(bytes);
  }
}

function toBase64(bytes: Uint8Array): BodyText {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { body: view.toString("base64"), isBase64: true };
}
