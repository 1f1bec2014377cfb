import { createHash, randomBytes } from "node:crypto";

/** 256 random bits, base64url. */
export const createSecret = (): string => randomBytes(32).toString("base64url");

/** What is kept of a token. It is random, so one round of SHA-256 is enough; better-auth does the same. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("base64url");
