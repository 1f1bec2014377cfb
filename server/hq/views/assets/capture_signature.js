// @ts-check
// Signatures of webhooks, checked here: the secret never leaves the page.
import { bytesOf } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {{ header: string, read(value: string, capture: Capture): { signed: string, signatures: string[] } | null }} Preset */

const ENCODER = new TextEncoder();

/**
 * How senders sign: the header, and from its value what stands before the body in what is signed, and the signatures.
 * @type {Readonly<Record<string, Preset>>}
 */
export const PRESETS = {
  GitHub: {
    header: "x-hub-signature-256",
    read: (value) => /^sha256=[\da-f]{64}$/i.test(value) ? { signed: "", signatures: [value.slice(7)] } : null,
  },
  Stripe: {
    header: "stripe-signature",
    read(value) {
      const pairs = value.split(",").map((pair) => pair.trim().split("="));
      const time = pairs.find(([name]) => name === "t")?.[1];
      const signatures = pairs.filter(([name]) => name === "v1").map(([, signature]) => signature ?? "");
      return time === undefined || signatures.length === 0 ? null : { signed: `${time}.`, signatures };
    },
  },
  Slack: {
    header: "x-slack-signature",
    read(value, capture) {
      const time = findHeader(capture, "x-slack-request-timestamp");
      return time === null || !value.startsWith("v0=") ? null : { signed: `v0:${time}:`, signatures: [value.slice(3)] };
    },
  },
};

/**
 * The sender whose signature a capture has, or null.
 * @param {Capture} capture
 */
export function guessPreset(capture) {
  return Object.keys(PRESETS).find((name) => findHeader(capture, PRESETS[name].header) !== null) ?? null;
}

/**
 * Whether a capture was signed with a secret.
 * @param {string} preset a name of {@link PRESETS}
 * @param {string} secret
 * @param {Capture} capture
 * @param {Uint8Array<ArrayBuffer>} body
 * @returns {Promise<"valid" | "invalid" | "unsigned">}
 */
export async function verifySignature(preset, secret, capture, body) {
  const { header, read } = PRESETS[preset];
  const value = findHeader(capture, header);
  const found = value === null ? null : read(value, capture);
  if (found === null) return "unsigned";
  const prefix = bytesOf(found.signed);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", ENCODER.encode(secret), algorithm, false, ["sign"]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  const wanted = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return found.signatures.some((signature) => signature.toLowerCase() === wanted) ? "valid" : "invalid";
}

/**
 * @param {Capture} capture
 * @param {string} wanted in lower case
 */
function findHeader({ headers }, wanted) {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
}
