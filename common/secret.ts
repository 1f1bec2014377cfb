import { createHash, randomBytes } from "node:crypto";

/** 256 random bits, base64url. */
export const createSecret = (): string => randomBytes(32).toString("base64url");

/**
 * What is kept of a secret, which is only ever compared: SHA-256 in base64url. It is random, so one round is enough;
 * better-auth makes the same of its tokens.
 */
export const hashSecret = (secret: string): string => createHash("sha256").update(secret).digest("base64url");
