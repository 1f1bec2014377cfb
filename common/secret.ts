import { createHash, randomBytes } from "node:crypto";

/** Returns 256 random bits in base64url. */
export const createSecret = (): string => randomBytes(32).toString("base64url");

/**
 * Returns the stored form of a secret: SHA-256 in base64url. One round suffices for random secrets; better-auth does
 * the same with its tokens.
 */
export const hashSecret = (secret: string): string => createHash("sha256").update(secret).digest("base64url");
