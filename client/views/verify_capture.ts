import { Buffer } from "node:buffer";
import { createScheme, type Scheme, SENDERS, verifySignature } from "../../common/readable/signature.js";
import { pathBelowView } from "../../common/captures/replay_request.ts";
import type { CaptureRecord } from "./records.ts";

/** Longer bodies are not checked. */
const MAX_BODY = 16 * 1024 * 1024;

/** Checks one sender's signatures. */
export interface Verifier {
  /** The sender's name, for messages. */
  readonly sender: string;
  /** @param body the capture's body */
  verify(capture: CaptureRecord, body: AsyncIterable<Uint8Array>): Promise<Verdict>;
}

/** A check's result. `too_long` bodies were not checked. */
export type Verdict = "valid" | "invalid" | "unsigned" | "too_long";

/**
 * Creates a sender's verifier: a known name in any spelling, or `hmac:HEADER:HASH:ENCODING`.
 * @throws RangeError for any other text
 */
export function createVerifier(sender: string, secret: string, captureUrl: string): Verifier {
  const [name, scheme] = findScheme(sender);
  return {
    sender: name,
    async verify(capture, body) {
      if (capture.bodySize > MAX_BODY) return "too_long";
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      const { headers } = capture, url = captureUrl + pathBelowView(capture);
      return await verifySignature(scheme, secret, { headers, url, body: Uint8Array.from(Buffer.concat(chunks)) });
    },
  };
}

function findScheme(sender: string): [name: string, scheme: Scheme] {
  const [kind, field = "", hash = "", encoding = ""] = sender.split(":");
  const own = kind.toLowerCase() === "hmac" ? createScheme(field, hash, encoding) : null;
  if (own !== null) return [`HMAC in ${field}`, own];
  const plain = (text: string) => text.toLowerCase().replace(/[\s_-]/g, "");
  const known = Object.entries(SENDERS).find(([name]) => plain(name) === plain(sender));
  if (known !== undefined) return known;
  const names = Object.keys(SENDERS).map((name) => name.toLowerCase().replace(" ", "-")).join(", ");
  throw new RangeError(`unknown sender "${sender}": use ${names}, or hmac:HEADER:HASH:ENCODING`);
}
