import { z } from "zod";
import { fieldError, normalizeMethod, parseDescription, type RequestDescription } from "./description.ts";

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

/*
 * The wire format of proxyscotch, which Hoppscotch and other clients use. Names match in any case, as in Go's JSON
 * reader, and unknown names are ignored.
 */

/** Fields that occur in this format only. One is enough to recognise it. */
const TELLING_FIELDS = new Set(["accesstoken", "wantsbinary", "params", "data"]);

const textMap = z.record(z.string(), z.string()).nullish();

const schema = z.object({
  method: z.string(),
  url: z.string(),
  accesstoken: z.string().nullish(),
  wantsbinary: z.boolean().nullish(),
  headers: textMap,
  params: textMap,
  data: z.string().nullish(),
  auth: z.object({ username: z.string().nullish(), password: z.string().nullish() }).nullish(),
});

/** Whether a description has this format. */
function isProxyscotch(input: unknown): input is Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const keys = Object.keys(input);
  return keys.some((key) => TELLING_FIELDS.has(key.toLowerCase()) || isOtherwiseSpelled(key)) ||
    "method" in input && "auth" in input && keys.every(isField) && isBareAuth(input.auth);
}

const isField = (name: string): boolean => Object.hasOwn(schema.shape, name);

/** Whether a name is an unusual spelling such as `Method`, which only this format accepts. */
const isOtherwiseSpelled = (key: string): boolean => !isField(key) && isField(key.toLowerCase());

/** Whether credentials lack a type. */
function isBareAuth(auth: unknown): boolean {
  return typeof auth === "object" && auth !== null && !("type" in auth) &&
    Object.keys(auth).some((key) => /^username$/i.test(key));
}

/** A parsed description in this format. */
interface ProxyscotchJob {
  description: RequestDescription;
  /** Whether the caller wants the body as base64. */
  wantsBinary: boolean;
  accessToken: string | null;
}

/** @throws HttpError 400 `description_invalid` */
function parseProxyscotch(input: Record<string, unknown>): ProxyscotchJob {
  const parsed = schema.safeParse(lowerKeys(input));
  if (!parsed.success) throw fieldError(String(parsed.error.issues[0].path[0]), "is missing or of the wrong type");
  const given = parsed.data;
  const headers = Object.entries(given.headers ?? {});
  const description = parseDescription({
    method: normalizeMethod(given.method || "GET"),
    url: given.url,
    headers,
    ...(given.data ? { body: { text: given.data } } : {}),
    ...readAuth(given.auth),
  });
  setParameters(description.url, Object.entries(given.params ?? {}));
  return { description, wantsBinary: given.wantsbinary ?? false, accessToken: given.accesstoken || null };
}

/** Sets query parameters and keeps every other byte. A parameter replaces others with its name. */
function setParameters(url: URL, parameters: readonly (readonly [name: string, value: string])[]): void {
  const names = new Set(parameters.map(([name]) => name));
  const isOther = (pair: string) => ![...new URLSearchParams(pair).keys()].some((name) => names.has(name));
  const kept = url.search === "" ? [] : url.search.slice(1).split("&").filter(isOther);
  const set = parameters.map((pair) => String(new URLSearchParams([[...pair]])));
  if (set.length > 0) url.search = [...kept, ...set].join("&");
}

function lowerKeys(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      const name = key.toLowerCase();
      const isAuth = name === "auth" && typeof value === "object" && value !== null;
      return [name, isAuth ? lowerKeys({ ...value }) : value];
    }),
  );
}

function readAuth(auth: { username?: string | null; password?: string | null } | null | undefined) {
  if (!auth?.username || !auth.password) return {};
  return { auth: { type: "basic", username: auth.username, password: auth.password } };
}
