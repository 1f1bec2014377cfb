import { Buffer } from "node:buffer";

/** Returns JSON with its length, which a response to HEAD needs, since it has no body. */
export function sizedJson(text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  const length = String(Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json", "content-length": length },
  });
}
