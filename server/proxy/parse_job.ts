import { parseDescription } from "./description.ts";
import type { AnswerFormat, Job } from "./job.ts";
import { isProxyscotch, parseProxyscotch } from "./proxyscotch.ts";

/** How a description wants its errors told, known even when the rest of it is wrong. */
export function readFormat(input: unknown): AnswerFormat {
  return isProxyscotch(input) ? { kind: "proxyscotch", wantsBinary: false } : { kind: "portway" };
}

/**
 * Reads a description in either of the two languages.
 * @throws HttpError 400 `description_invalid`
 */
export function parseJob(input: unknown, defaultMethod: string): Job {
  if (isProxyscotch(input)) return parseProxyscotch(input);
  return { description: parseDescription(input, defaultMethod), format: { kind: "portway" }, accessToken: null };
}
