import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { hashSecret } from "../../../common/secret.ts";

/** 32 letters and digits that people do not confuse; 5 bits each. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** Creates a host label from 80 random bits: hard to guess, and short enough to type. */
export function createLabel(): string {
  return Array.from(randomBytes(16), (byte) => ALPHABET[byte & 31]).join("");
}

/** Whether `hash` is the hash of `secret`, in constant time. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hash));
}

/** Creates a host label from a name and 40 random bits. */
export function createNamedLabel(name: string): string {
  return `${name}-${createLabel().slice(0, 8)}`;
}
