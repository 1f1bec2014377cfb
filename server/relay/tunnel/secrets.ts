import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { hashSecret } from "../../../common/secret.ts";

/** 32 letters and digits that are hard to confuse; 5 bits each. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** A host label of 80 random bits: unguessable, and short enough to type. */
export function createLabel(): string {
  return Array.from(randomBytes(16), (byte) => ALPHABET[byte & 31]).join("");
}

/** Whether `secret` is the one that `hash` was made of, in time that tells nothing. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hash));
}

/** A host label that begins with a name, and ends in 40 random bits. */
export function createNamedLabel(name: string): string {
  return `${name}-${createLabel().slice(0, 8)}`;
}
