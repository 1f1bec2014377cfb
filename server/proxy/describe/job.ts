import { parseDescription, type RequestDescription } from "./description.ts";
import { isProxyscotch, parseProxyscotch } from "./proxyscotch.ts";

/** The response format: our JSON, proxyscotch's JSON, or `plain` for the upstream's own response. */
export type ResponseFormat = { kind: "portway" } | { kind: "proxyscotch"; wantsBinary: boolean } | { kind: "plain" };

/** A request to perform and its response format. */
export interface Job {
  description: RequestDescription;
  format: ResponseFormat;
  /** A token inside the description, as proxyscotch's clients send it. */
  accessToken: string | null;
}

/** Reads the response format, which is known even for an otherwise wrong description. */
export function readFormat(input: unknown): ResponseFormat {
  return isProxyscotch(input) ? { kind: "proxyscotch", wantsBinary: false } : { kind: "portway" };
}

/** Parses a description in either format. @throws HttpError 400 `description_invalid` */
export function parseJob(input: unknown, defaultMethod: string): Job {
  if (isProxyscotch(input)) {
    const { wantsBinary, ...job } = parseProxyscotch(input);
    return { ...job, format: { kind: "proxyscotch", wantsBinary } };
  }
  return { description: parseDescription(input, defaultMethod), format: { kind: "portway" }, accessToken: null };
}
