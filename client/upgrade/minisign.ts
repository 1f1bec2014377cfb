import { Buffer } from "node:buffer";
import { createHash, createPublicKey, verify } from "node:crypto";

/** Length in bytes, for the key id that a public key and its signatures share. */
const ID_BYTES = 8;
const ALGORITHM_BYTES = 2;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A signature does not belong to the file and the key; the message gives the reason. */
export class BadSignature extends Error {
  override readonly name = "BadSignature";
}

/**
 * Verifies a minisign signature, which covers the file and the trusted comment.
 * @param key a public key file's base64 line
 * @param signature a `.minisig` file's text, legacy or prehashed
 * @returns the trusted comment
 * @throws BadSignature
 */
export function verifyMinisign(file: Uint8Array, signature: string, key: string): string {
  const { id, publicKey } = parseKey(key);
  const parsed = parseSignature(signature);
  if (!parsed.id.equals(id)) throw new BadSignature("another key made the signature");
  const signed = parsed.isPrehashed ? createHash("blake2b512").update(file).digest() : file;
  if (!verify(null, signed, publicKey, parsed.signature)) throw new BadSignature("the signature is for another file");
  const comment = Buffer.concat([parsed.signature, Buffer.from(parsed.comment)]);
  if (!verify(null, comment, publicKey, parsed.commentSignature)) {
    throw new BadSignature("the trusted comment was changed");
  }
  return parsed.comment;
}

function parseKey(key: string) {
  const bytes = Buffer.from(key, "base64"), start = ALGORITHM_BYTES + ID_BYTES;
  if (bytes.length !== start + KEY_BYTES || bytes.toString("latin1", 0, ALGORITHM_BYTES) !== "Ed") {
    throw new BadSignature("the public key has another format");
  }
  const x = bytes.subarray(start).toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return { id: bytes.subarray(ALGORITHM_BYTES, start), publicKey };
}

function parseSignature(text: string) {
  const [untrusted, first, trusted, second] = text.split(/\r?\n/);
  const [, comment] = /^trusted comment: (.*)$/.exec(trusted ?? "") ?? [];
  const bytes = Buffer.from(first ?? "", "base64"), commentSignature = Buffer.from(second ?? "", "base64");
  const start = ALGORITHM_BYTES + ID_BYTES, algorithm = bytes.toString("latin1", 0, ALGORITHM_BYTES);
  const isWhole = bytes.length === start + SIGNATURE_BYTES && commentSignature.length === SIGNATURE_BYTES;
  if (!untrusted.startsWith("untrusted comment:") || comment === undefined || !isWhole) {
    throw new BadSignature("the signature file is damaged");
  }
  // minisign hashes files with BLAKE2b before it signs them; older releases sign the file itself.
  if (algorithm !== "ED" && algorithm !== "Ed") throw new BadSignature("the signature has another algorithm");
  return {
    isPrehashed: algorithm === "ED",
    id: bytes.subarray(ALGORITHM_BYTES, start),
    signature: bytes.subarray(start),
    comment,
    commentSignature,
  };
}
