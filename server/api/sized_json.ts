import { Buffer } from "node:buffer";

/** A JSON response with its Content-Length, which the response to HEAD needs as well. */
export function sizedJson(text: string): Response {
  const length = String(Buffer.byteLength(text));
  return new Response(text, { headers: { "content-type": "application/json", "content-length": length } });
}
