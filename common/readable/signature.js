// @ts-check
// Checks webhook signatures, in pages and in the client. The secret never leaves the program.
import { parseFormFields } from "./form_fields.js";

/**
 * A received request, with one character a byte in its fields.
 * @typedef {object} SignedRequest
 * @property {readonly (readonly [name: string, value: string])[]} headers
 * @property {string} url as the sender called it, with path and query
 * @property {Uint8Array<ArrayBuffer>} body
 */

/**
 * A signature as a request carries it.
 * @typedef {object} Claim
 * @property {Uint8Array<ArrayBuffer>} signed the bytes that were signed
 * @property {string[]} signatures one of them must fit
 */

/**
 * How a sender signs.
 * @typedef {object} Scheme
 * @property {string} field the field with the signature, in lower case
 * @property {"SHA-1" | "SHA-256" | "SHA-384" | "SHA-512"} hash
 * @property {"hex" | "base64"} encoding
 * @property {(value: string, request: SignedRequest) => Promise<Claim | null> | Claim | null} read
 * @property {(secret: string) => Uint8Array<ArrayBuffer>} [readKey]
 */

const HASHES = /** @type {const} */ ({ sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" });

/**
 * The schemes of known senders, by their names.
 * @type {Readonly<Record<string, Scheme>>}
 */
export const SENDERS = {
  "GitHub": {
    field: "x-hub-signature-256",
    hash: "SHA-256",
    encoding: "hex",
    read: (value, { body }) => value.startsWith("sha256=") ? { signed: body, signatures: [value.slice(7)] } : null,
  },
  "Stripe": {
    field: "stripe-signature",
    hash: "SHA-256",
    encoding: "hex",
    read(value, { body }) {
      const pairs = value.split(",").map((pair) => pair.trim().split("="));
      const time = pairs.find(([name]) => name === "t")?.[1];
      const signatures = pairs.filter(([name]) => name === "v1").map(([, signature]) => signature ?? "");
      return time === undefined || signatures.length === 0 ? null : { signed: prefix(`${time}.`, body), signatures };
    },
  },
  "Slack": {
    field: "x-slack-signature",
    hash: "SHA-256",
    encoding: "hex",
    read(value, request) {
      const time = findField(request, "x-slack-request-timestamp");
      if (time === null || !value.startsWith("v0=")) return null;
      return { signed: prefix(`v0:${time}:`, request.body), signatures: [value.slice(3)] };
    },
  },
  "Standard Webhooks": {
    field: "webhook-signature",
    hash: "SHA-256",
    encoding: "base64",
    read: (value, request) => readStandard(value, request, "webhook-"),
    readKey: readStandardKey,
  },
  "Svix": {
    field: "svix-signature",
    hash: "SHA-256",
    encoding: "base64",
    read: (value, request) => readStandard(value, request, "svix-"),
    readKey: readStandardKey,
  },
  "Shopify": {
    field: "x-shopify-hmac-sha256",
    hash: "SHA-256",
    encoding: "base64",
    read: (value, { body }) => ({ signed: body, signatures: [value] }),
  },
  "Twilio": { field: "x-twilio-signature", hash: "SHA-1", encoding: "base64", read: readTwilio },
};

/**
 * Creates the scheme for a sender that signs the body alone.
 * @param {string} field
 * @param {string} hash `sha1`, `sha256`, `sha384` or `sha512`
 * @param {string} encoding `hex` or `base64`
 * @returns {Scheme | null} null for an unknown hash or encoding, or an empty field
 */
export function createScheme(field, hash, encoding) {
  const known = Object.entries(HASHES).find(([name]) => name === hash.toLowerCase().replace("-", ""))?.[1];
  if (known === undefined || field.trim() === "" || (encoding !== "hex" && encoding !== "base64")) return null;
  return {
    field: field.trim().toLowerCase(),
    hash: known,
    encoding,
    read: (value, { body }) => ({ signed: body, signatures: [value.replace(/^(?:sha\d+|hmac|v\d+)=/i, "")] }),
  };
}

/**
 * Returns the sender whose signature a request carries, or null.
 * @param {Pick<SignedRequest, "headers">} request
 */
export function guessSender(request) {
  return Object.keys(SENDERS).find((name) => findField(request, SENDERS[name].field) !== null) ?? null;
}

/**
 * Checks a signature. White space around the secret does not count, because pasted text often has some.
 * @param {Scheme} scheme
 * @param {string} secret
 * @param {SignedRequest} request
 * @returns {Promise<"valid" | "invalid" | "unsigned">} unsigned when the request has no signature of this scheme
 */
export async function verifySignature(scheme, secret, request) {
  const value = findField(request, scheme.field);
  const claim = value === null ? null : await scheme.read(value.trim(), request);
  if (claim === null) return "unsigned";
  const key = (scheme.readKey ?? encodeText)(secret.trim());
  // WebCrypto takes no empty key.
  if (key.length === 0) return "invalid";
  const algorithm = { name: "HMAC", hash: scheme.hash };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  const wanted = new Uint8Array(await crypto.subtle.sign("HMAC", imported, claim.signed));
  const decode = scheme.encoding === "hex" ? decodeHex : decodeBase64;
  return claim.signatures.some((signature) => isEqual(decode(signature), wanted)) ? "valid" : "invalid";
}

/**
 * https://www.standardwebhooks.com: id, time and body, signed with a secret in base64.
 * @param {string} value
 * @param {SignedRequest} request
 * @param {string} names the prefix of its fields
 * @returns {Claim | null}
 */
function readStandard(value, request, names) {
  const id = findField(request, `${names}id`), time = findField(request, `${names}timestamp`);
  const signatures = value.split(" ").filter((one) => one.startsWith("v1,")).map((one) => one.slice(3));
  if (id === null || time === null || signatures.length === 0) return null;
  return { signed: prefix(`${id}.${time}.`, request.body), signatures };
}

/** @param {string} secret */
function readStandardKey(secret) {
  return decodeBase64(secret.replace(/^whsec_/, "")) ?? encodeText(secret);
}

/**
 * Twilio signs the URL and a form's sorted fields. For other bodies the URL contains their hash.
 * @param {string} value
 * @param {SignedRequest} request
 * @returns {Promise<Claim | null>}
 */
async function readTwilio(value, { url, headers, body }) {
  const wantedHash = /[?&]bodySHA256=([\da-f]{64})/i.exec(url)?.[1];
  if (wantedHash !== undefined) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
    return { signed: encodeText(url), signatures: isEqual(decodeHex(wantedHash), hash) ? [value] : [] };
  }
  const type = findField({ headers }, "content-type") ?? "";
  const isForm = type.toLowerCase().startsWith("application/x-www-form-urlencoded");
  const fields = isForm ? parseFormFields(body, null) ?? [] : [];
  const sorted = [...new Set(fields.map(([name, text]) => `${name}\0${text}`))].sort();
  return { signed: encodeText(url + sorted.map((pair) => pair.replace("\0", "")).join("")), signatures: [value] };
}

/**
 * @param {Pick<SignedRequest, "headers">} request
 * @param {string} wanted in lower case
 */
function findField({ headers }, wanted) {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
}

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
const encodeText = (text) => new TextEncoder().encode(text);

/**
 * Puts text with one character a byte before a body.
 * @param {string} text
 * @param {Uint8Array} body
 */
function prefix(text, body) {
  const bytes = new Uint8Array(text.length + body.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  bytes.set(body, text.length);
  return bytes;
}

/** @param {string} text @returns {Uint8Array<ArrayBuffer> | null} */
function decodeHex(text) {
  if (!/^(?:[\da-f]{2})+$/i.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

/** @param {string} text @returns {Uint8Array<ArrayBuffer> | null} */
function decodeBase64(text) {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/**
 * @param {Uint8Array | null} given
 * @param {Uint8Array} wanted
 */
function isEqual(given, wanted) {
  return given !== null && given.length === wanted.length && given.every((byte, at) => byte === wanted[at]);
}
