import { Buffer } from "node:buffer";

/** JSON with its length, which the answer to HEAD tells too, although it has no body. */
export function sizedJson(text: string): Response {
  const length = String(Buffer.byteLength(text));
  return new Response(text, { headers: { "content-type": "application/json", "content-length": length } });
}
