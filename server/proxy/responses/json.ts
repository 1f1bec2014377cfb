import { Buffer } from "node:buffer";
import { z } from "zod";
import { charsetOf, createTextDecoder } from "../../../common/readable/decode_text.js";
import { type ProxyResponse, respondJson } from "../response.ts";
import type { RequestDescription } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import type { DecodedBody } from "./decode.ts";
import type { HttpError } from "../../../common/http_error.ts";
import { EXPOSE_HEADERS } from "../../http/mod.ts";

const milliseconds = z.number().min(0);
const bytes = z.int().min(0);

/** A described response. docs/guides/proxy/cors-proxy.md explains each field. */
export const responseSchema = z.strictObject({
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

/** Describes an upstream's whole response in JSON. */
export function jsonResponse(
  followed: FollowedResponse,
  body: DecodedBody,
  totalMs: number,
  responseType: RequestDescription["responseType"],
): ProxyResponse {
  const { response } = followed;
  const contentType = response.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  const description: z.infer<typeof responseSchema> = {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    ...toBodyText(body.bytes, contentType, responseType),
    finalUrl: followed.finalUrl,
    redirects: followed.redirects,
    timings: { ...roundedTimings(followed), totalMs: round(totalMs) },
    size: {
      headers: headerBytes(response.headers),
      body: body.bytes.byteLength,
      transferred: body.wireBytes,
    },
  };
  return respondJson(description);
}

/** Rounds milliseconds to two decimals. */
export function roundedTimings(
  { dnsMs, connectMs, firstByteMs }: FollowedResponse,
): Omit<z.infer<typeof responseSchema>["timings"], "totalMs"> {
  return { dnsMs: round(dnsMs), connectMs: round(connectMs), firstByteMs: round(firstByteMs) };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

/** Counts the header lines' bytes in HTTP/1.1: name, colon, space, value, line end. */
function headerBytes(headers: readonly (readonly [string, string])[]): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

const TEXT_TYPES =
  /^(text\/|application\/(.+\+)?(json|xml|javascript|x-www-form-urlencoded|graphql|yaml|x-ndjson)\b|image\/svg)/i;
const STRICT = { fatal: true, ignoreBOM: true };
const utf8 = new TextDecoder("utf-8", STRICT);

/** A body in JSON: text or base64. */
export interface BodyText {
  body: string;
  isBase64: boolean;
}

/**
 * Converts a body for JSON. `auto` gives text when the type is a text type or missing and the bytes are valid in the
 * charset, else padded base64. `text` replaces invalid bytes.
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

/** Describes a response in this format: a map with lower-case headers. The last duplicate wins. */
export function proxyscotchResponse(
  { response }: FollowedResponse,
  bytes: Uint8Array,
  wantsBinary: boolean,
): ProxyResponse {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return respondJson({
    success: true,
    isBinary: wantsBinary,
    status: response.status,
    statusText: response.statusText,
    headers: Object.fromEntries(response.headers.map(([name, value]) => [name.toLowerCase(), value])),
    // Its clients expect base64 without padding.
    data: wantsBinary ? view.toString("base64").replace(/=+$/, "") : view.toString("utf8"),
  });
}

/** Describes a failure in this format: status 200 with the error inside. */
export function proxyscotchFailure(error: HttpError): ProxyResponse {
  return respondJson({ success: false, data: { message: `(Proxy Error) ${error.message}` } }, [
    ["portway-error", error.code],
    EXPOSE_HEADERS,
  ]);
}

/** Responds to a page that looks for a proxy. */
export function proxyscotchStatus(fingerprint: string, isProtected: boolean): ProxyResponse {
  return respondJson({ success: true, data: { sessionFingerprint: fingerprint, isProtected } });
}
