/** What a personal token begins with, so that scanners for secrets know it. */
export const PERSONAL_TOKEN_PREFIX = "pwt_";
