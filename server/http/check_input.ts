import type { z } from "zod";
import { bodyTooLarge, HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/** Bytes that a JSON body may have by default. */
const MAX_BODY = 64 * 1024;

/**
 * Reads a request's body as JSON.
 * @param maxBytes 64 KiB by default
 * @throws HttpError 400 `bad_request` for malformed JSON, 413 `body_too_large` for a longer body
 */
export async function readJsonBody(exchange: Pick<Exchange, "readBody">, maxBytes = MAX_BODY): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "", size = 0;
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    size += piece.length;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    text += decoder.decode(piece, { stream: true });
  }
  try {
    return JSON.parse(text + decoder.decode());
  } catch {
    throw new HttpError(400, "bad_request", "The body must be JSON.");
  }
}

/**
 * Checks every field that a caller sent.
 * @throws HttpError 400 `bad_request` with the first unusable field's name, never with its value
 */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const { field, reason } = findFault(parsed.error, input);
  throw badField(field, reason);
}

/**
 * Checks the names in a request's query: a misspelled filter would otherwise select all rows.
 * @param path the request's path and query
 * @param known the operation's parameters
 * @throws HttpError 400 `bad_request` for an unknown or repeated parameter
 */
export function checkQuery(path: string, known: ReadonlySet<string>): void {
  const mark = path.indexOf("?");
  if (mark < 0) return;
  const seen = new Set<string>();
  for (const name of new URLSearchParams(path.slice(mark)).keys()) {
    const shown = name.slice(0, MAX_FIELD);
    if (!known.has(name)) throw fieldRefused(shown, `The query parameter "${shown}" is not known.`);
    if (seen.has(name)) throw fieldRefused(shown, `The query parameter "${shown}" is given twice.`);
    seen.add(name);
  }
}

/** 400 `bad_request` for one field; "" means the whole input. */
export function badField(field: string, reason: string): HttpError {
  if (field === "") return new HttpError(400, "bad_request", `The body ${reason}.`);
  return fieldRefused(field, `Field "${field}" ${reason}.`);
}

/** 400 `bad_request` that names a field in a form or a body. @param message a sentence without the value */
export function fieldRefused(field: string, message: string): HttpError {
  return new HttpError(400, "bad_request", message, { body: { error: { code: "bad_request", message, field } } });
}

/** Returns the failing field ("" for the whole input) and the reason as the end of a sentence. */
export function findFault(error: z.ZodError, input: unknown): { field: string; reason: string } {
  const issue = deepestIssue(error.issues[0]);
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    return { field: [...issue.path, issue.keys[0]].join(".").slice(0, MAX_FIELD), reason: "is not known" };
  }
  if (field === "") return { field, reason: "must be a JSON object" };
  if (isMissing(input, issue.path)) return { field, reason: "must be given" };
  return { field: field.slice(0, MAX_FIELD), reason: describeIssue(issue) };
}

/** Characters that an error repeats from an unknown field's name. */
const MAX_FIELD = 100;

/**
 * Chooses the best alternative in a union: the one with the deepest issue, or with an issue beyond its type.
 */
function deepestIssue(issue: z.core.$ZodIssue, base: PropertyKey[] = []): z.core.$ZodIssue {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { ...issue, path };
  const inner = issue.errors.flat().map((one) => deepestIssue(one, path));
  return inner.reduce((best, one) => fitness(one) > fitness(best) ? one : best, { ...issue, path });
}

function fitness({ path, code }: z.core.$ZodIssue): number {
  if (code === "invalid_type" || code === "invalid_union") return 2 * path.length;
  // A wrong word may belong to another alternative.
  return 2 * path.length + (code === "invalid_value" ? 0.5 : 1);
}

function isMissing(input: unknown, path: readonly PropertyKey[]): boolean {
  let value = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return false;
    value = Reflect.get(value, key);
  }
  return value === undefined;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be of type ${issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_big":
      return `must ${describeBound("at most", issue.maximum, issue.origin)}`;
    case "too_small":
      return `must ${describeBound("at least", issue.minimum, issue.origin)}`;
    case "custom":
    case "invalid_format":
      return issue.message;
    case "invalid_union":
      return "has none of the forms it may have";
    default:
      return "cannot be used";
  }
}

function describeBound(bound: string, value: number | bigint, origin: string): string {
  if (origin === "array") return `have ${bound} ${value} entries`;
  return origin === "string" ? `have ${bound} ${value} characters` : `be ${bound} ${value}`;
}
