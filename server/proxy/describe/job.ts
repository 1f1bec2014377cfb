import { parseDescription, type RequestDescription } from "./description.ts";
import { isProxyscotch, parseProxyscotch } from "./proxyscotch.ts";

/**
 * How the caller wants to be answered: with a description of the answer in our JSON or in proxyscotch's, or, `plain`,
 * with the answer itself.
 */
export type ResponseFormat = { kind: "portway" } | { kind: "proxyscotch"; wantsBinary: boolean } | { kind: "plain" };

/** A request to carry out, and how to answer whoever asked for it. */
export interface Job {
  description: RequestDescription;
  format: ResponseFormat;
  /** A token given inside the description, as proxyscotch's callers do. */
  accessToken: string | null;
}

/** How a description wants its errors told, known even when the rest of it is wrong. */
export function readFormat(input: unknown): ResponseFormat {
  return isProxyscotch(input) ? { kind: "proxyscotch", wantsBinary: false } : { kind: "portway" };
}

/**
 * Reads a description in either of the two languages.
 * @throws HttpError 400 `description_invalid`
 */
export function parseJob(input: unknown, defaultMethod: string): Job {
  if (isProxyscotch(input)) {
    const { wantsBinary, ...job } = parseProxyscotch(input);
    return { ...job, format: { kind: "proxyscotch", wantsBinary } };
  }
  return { description: parseDescription(input, defaultMethod), format: { kind: "portway" }, accessToken: null };
}
