import { Buffer } from "node:buffer";
import type { HttpError } from "../../../common/http_error.ts";
import { EXPOSE_HEADERS } from "../../http/mod.ts";
import { answerJson, type ProxyResponse } from "../response.ts";
import type { FollowedResponse } from "../perform/follow.ts";

/** The answer in this format: a map of lower-case headers, of which the last of several counts. */
export function proxyscotchResponse(
  { answer }: FollowedResponse,
  bytes: Uint8Array,
  wantsBinary: boolean,
): ProxyResponse {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return answerJson({
    success: true,
    isBinary: wantsBinary,
    status: answer.status,
    statusText: answer.statusText,
    headers: Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value])),
    // Its base64 has no padding, and its clients expect none.
    data: wantsBinary ? view.toString("base64").replace(/=+$/, "") : view.toString("utf8"),
  });
}

/** A failure in this format: status 200, with the truth inside. */
export function proxyscotchFailure(error: HttpError): ProxyResponse {
  return answerJson({ success: false, data: { message: `(Proxy Error) ${error.message}` } }, [
    ["portway-error", error.code],
    EXPOSE_HEADERS,
  ]);
}

/** What is told to a page that asks whether a proxy is here. */
export function proxyscotchStatus(fingerprint: string, isProtected: boolean): ProxyResponse {
  return answerJson({ success: true, data: { sessionFingerprint: fingerprint, isProtected } });
}
