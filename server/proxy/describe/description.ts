import { z } from "zod";
import { Buffer } from "node:buffer";
import { findFault } from "../../http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";

/** Header fields in the order in which they are sent, with duplicates. */
export type HeaderList = [string, string][];

/** A request that a caller described, checked and completed with defaults. */
export interface RequestDescription {
  method: string;
  url: URL;
  /** In the given order. */
  headers: HeaderList;
  body: Uint8Array | null;
  redirect: "follow" | "manual" | "error";
  maxRedirects: number;
  /** Null means the server's limit. */
  timeoutMs: number | null;
  /** Most body bytes in the response; null means the server's limit. */
  maxBytes: number | null;
  stream: boolean;
  /** Accepts every upstream certificate. */
  skipTlsVerify: boolean;
  /** The form of a buffered body in JSON; `auto` gives text for bytes that are text. */
  responseType: "auto" | "text" | "base64";
}

const MAX_REDIRECTS = 20;
/** The number that is followed when a request does not limit it. */
export const DEFAULT_REDIRECTS = 10;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Field values are bytes (RFC 9110, section 5.5): Latin-1 without control characters, except tab.
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const headerName = z.string().regex(TOKEN, "is no header name");
const headerValue = z.string().regex(FIELD_VALUE, "holds characters that a header cannot carry");
const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const headersSchema = pairsOf(headerName, headerValue, 500);
const querySchema = pairsOf(z.string(), scalar, 1000);

/** Accepts pairs, or an object whose values are single or lists. The result is always pairs. */
function pairsOf<V extends z.ZodType<string>>(name: z.ZodString, value: V, max: number) {
  const record = z.record(name, z.union([value, z.array(value)]));
  return z.union([
    z.array(z.tuple([name, value])),
    record.transform((all) =>
      Object.entries(all).flatMap(([key, one]) =>
        Array.isArray(one) ? one.map((each): [string, string] => [key, each]) : [[key, one] as [string, string]]
      )
    ),
  ]).refine((pairs) => pairs.length <= max, `has more than ${max} entries`);
}

const bodySchema = z.union([
  z.string().transform((text): BodySource => ({ text })),
  z.strictObject({ text: z.string().optional(), json: z.unknown().optional(), base64: z.string().optional() })
    .refine((source) => Object.keys(source).length === 1, "must have one of text, json and base64"),
]);

interface BodySource {
  text?: string;
  json?: unknown;
  base64?: string;
}

const authSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("basic"), username: z.string(), password: z.string() }),
  z.strictObject({ type: z.literal("bearer"), token: headerValue }),
]);

/** The description as callers write it. docs/guides/proxy/cors-proxy.md explains each field. */
export const descriptionSchema = z.strictObject({
  method: z.string().regex(TOKEN, "is no HTTP method").max(32).optional(),
  url: z.string().min(1).max(65_536),
  headers: headersSchema.optional(),
  query: querySchema.optional(),
  body: bodySchema.nullish(),
  auth: authSchema.nullish(),
  redirect: z.enum(["follow", "manual", "error"]).optional(),
  maxRedirects: z.int().min(0).max(MAX_REDIRECTS).optional(),
  timeoutMs: z.int().min(1).max(86_400_000).optional(),
  maxBytes: z.int().min(0).optional(),
  stream: z.boolean().optional(),
  skipTlsVerify: z.boolean().optional(),
  responseType: z.enum(["auto", "text", "base64"]).optional(),
});

/**
 * Checks a description.
 * @param defaultMethod the method when the description has neither a method nor a body
 * @throws HttpError 400 `description_invalid` that names the field. Values may be secret, so the message contains
 * none.
 */
export function parseDescription(input: unknown, defaultMethod = "GET"): RequestDescription {
  refuseLostNames(input);
  const parsed = descriptionSchema.safeParse(input);
  if (!parsed.success) throw invalidDescription(parsed.error, input);
  const given = parsed.data;
  const url = parseUpstreamUrl(given.url);
  if (given.query) appendQuery(url, given.query);
  const headers = [...given.headers ?? []];
  refuseSecondHost(headers, "headers");
  const body = given.body ? encodeBody(given.body, headers) : null;
  if (given.auth) setAuthorization(headers, given.auth);
  return {
    method: normalizeMethod(given.method ?? (body === null ? defaultMethod : "POST")),
    url,
    headers,
    body,
    redirect: given.redirect ?? "follow",
    maxRedirects: given.maxRedirects ?? DEFAULT_REDIRECTS,
    timeoutMs: given.timeoutMs ?? null,
    maxBytes: given.maxBytes ?? null,
    stream: given.stream ?? false,
    skipTlsVerify: given.skipTlsVerify ?? false,
    responseType: given.responseType ?? "auto",
  };
}

/** Request field of `/proxy/fetch` with fields that a page cannot set, as JSON: pairs or an object. */
export const HEADERS_HEADER = "portway-headers";

/** Parses the value of {@link HEADERS_HEADER}. @throws HttpError 400 `description_invalid` */
export function parseHeadersHeader(value: string): HeaderList {
  let input: unknown;
  try {
    input = JSON.parse(value);
  } catch {
    throw fieldError(HEADERS_HEADER, "is not valid JSON");
  }
  const parsed = headersSchema.safeParse(input);
  if (!parsed.success) throw fieldError(HEADERS_HEADER, "must hold pairs of names and values, or an object of them");
  refuseSecondHost(parsed.data, HEADERS_HEADER);
  return parsed.data;
}

function refuseSecondHost(headers: HeaderList, field: string): void {
  const hosts = headers.filter(([name]) => name.length === 4 && name.toLowerCase() === "host");
  if (hosts.length > 1) throw fieldError(field, "has Host more than once");
}

/** Parses an absolute URL. @throws HttpError 400 that names the field `url`. */
export function parseUpstreamUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw fieldError("url", "is no absolute URL");
  // The setter parses the URL again.
  if (text.includes("#")) url.hash = "";
  return url;
}

/** Appends parameters. The URL's own query stays byte for byte, because it may be signed. */
function appendQuery(url: URL, pairs: [string, string][]): void {
  if (pairs.length > 0) url.search += `${url.search === "" ? "" : "&"}${new URLSearchParams(pairs)}`;
}

/** Refuses names that an object would drop silently. */
function refuseLostNames(input: unknown): void {
  if (typeof input !== "object" || input === null) return;
  for (const field of ["headers", "query"]) {
    const value: unknown = Reflect.get(input, field);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, "__proto__")) continue;
    throw fieldError(`${field}.__proto__`, "can only be given as a pair");
  }
}

/** Creates a 400 for one field in the description. */
export function fieldError(field: string, reason: string): HttpError {
  const message = `Field "${field}" ${reason}.`;
  return new HttpError(400, "description_invalid", message, {
    body: { error: { code: "description_invalid", message, field } },
  });
}

/** Sets or replaces Authorization for basic (RFC 7617) or bearer (RFC 6750) credentials. */
function setAuthorization(headers: [string, string][], auth: z.infer<typeof authSchema>): void {
  const value = auth.type === "bearer"
    ? `Bearer ${auth.token}`
    : `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString("base64")}`;
  const rest = headers.filter(([name]) => name.toLowerCase() !== "authorization");
  headers.splice(0, headers.length, ...rest, ["Authorization", value]);
}

/** Whether a list contains a header with this lower-case name. */
export function hasHeader(headers: readonly (readonly [string, string])[], name: string): boolean {
  return headers.some(([one]) => one.length === name.length && one.toLowerCase() === name);
}

// Methods that fetch writes in upper case (https://fetch.spec.whatwg.org/#methods), and methods that cannot be proxied
// as one request.
const NORMALIZED_METHODS = /^(delete|get|head|options|post|put|patch)$/i;
const REFUSED_METHODS = /^(connect|trace|track)$/i;

/** Converts a method to upper case where fetch does so. @throws HttpError 400 for CONNECT, TRACE and TRACK. */
export function normalizeMethod(method: string): string {
  if (REFUSED_METHODS.test(method)) throw fieldError("method", "names a method that cannot be proxied");
  return NORMALIZED_METHODS.test(method) ? method.toUpperCase() : method;
}

function encodeBody(source: BodySource, headers: [string, string][]): Uint8Array {
  if (source.text !== undefined) return Buffer.from(source.text);
  if (source.base64 !== undefined) return decodeBase64(source.base64);
  if (!hasHeader(headers, "content-type")) headers.push(["Content-Type", "application/json"]);
  return Buffer.from(JSON.stringify(source.json ?? null));
}

/** Decodes both base64 alphabets, with full padding or none. */
function decodeBase64(text: string): Uint8Array {
  const isWhole = text.endsWith("=") ? text.length % 4 === 0 : text.length % 4 !== 1;
  if (!isWhole || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw fieldError("body.base64", "is not base64");
  return Buffer.from(text, "base64");
}

function invalidDescription(error: z.ZodError, input: unknown): HttpError {
  const { field, reason } = findFault(error, input);
  if (field === "") return new HttpError(400, "description_invalid", "The description must be a JSON object.");
  return fieldError(field, reason);
}
