import type { z } from "zod";
import { bodyTooLarge, HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/** Bytes of a JSON body that describes something of ours. */
const MAX_BODY = 64 * 1024;

/**
 * Reads a request's body as JSON.
 * @param maxBytes 64 KiB when left out
 * @throws HttpError 400 `bad_request` when it is none, 413 `body_too_large` when it is longer
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
 * Checks what a caller sent, every field of it.
 * @throws HttpError 400 `bad_request` that names the first field which cannot be used; never with a value in it
 */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const { field, reason } = findFault(parsed.error, input);
  throw badField(field, reason);
}

/**
 * Checks the names in a request's query: a misspelled filter would otherwise select everything.
 * @param path path and query of the request
 * @param known the parameters that the operation has
 * @throws HttpError 400 `bad_request` for a parameter that is not known or is given twice
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

/** 400 `bad_request` for one field; "" is the input as a whole. */
export function badField(field: string, reason: string): HttpError {
  if (field === "") return new HttpError(400, "bad_request", `The body ${reason}.`);
  return fieldRefused(field, `Field "${field}" ${reason}.`);
}

/** 400 `bad_request` that names a field of a form or of a body. @param message a whole sentence, never with a value */
export function fieldRefused(field: string, message: string): HttpError {
  return new HttpError(400, "bad_request", message, { body: { error: { code: "bad_request", message, field } } });
}

/** Which field an input fails for ("" for all of it), and why, as the end of a sentence. */
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

/** Characters of a field's name that a caller made up. */
const MAX_FIELD = 100;

/**
 * Of the alternatives of a union, the one that fits best is the one whose complaint lies deepest, or is about more than
 * its type.
 */
function deepestIssue(issue: z.core.$ZodIssue, base: PropertyKey[] = []): z.core.$ZodIssue {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { ...issue, path };
  const inner = issue.errors.flat().map((one) => deepestIssue(one, path));
  return inner.reduce((best, one) => fitness(one) > fitness(best) ? one : best, { ...issue, path });
}

function fitness({ path, code }: z.core.$ZodIssue): number {
  if (code === "invalid_type" || code === "invalid_union") return 2 * path.length;
  // Another word than the wanted one may be meant for another alternative.
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
