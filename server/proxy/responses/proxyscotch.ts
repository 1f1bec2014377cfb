import { Buffer } from "node:buffer";
import type { HttpError } from "../../../common/http_error.ts";
import { EXPOSE_HEADERS } from "../../http/mod.ts";
import { type ProxyResponse, respondJson } from "../response.ts";
import type { FollowedResponse } from "../perform/follow.ts";

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
