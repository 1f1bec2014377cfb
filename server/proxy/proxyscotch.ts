import { Buffer } from "node:buffer";
import { z } from "zod";
import type { HttpError } from "../../common/http_error.ts";
import { type Answer, answerJson, EXPOSE_HEADERS } from "./answer.ts";
import { fieldError, normalizeMethod, parseDescription } from "./description.ts";
import type { Job } from "./job.ts";
import type { FollowedAnswer } from "./follow.ts";

/*
 * The wire format of proxyscotch, which Hoppscotch's pages and others speak. Names match whatever their case, as the
 * JSON reader of its language does, and unknown ones are passed over.
 */

/** Fields that only this format has; one of them is enough to tell it. */
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

/** Whether a description is written in this format. */
export function isProxyscotch(input: unknown): input is Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const keys = Object.keys(input);
  return keys.some((key) => TELLING_FIELDS.has(key.toLowerCase()) || isOtherwiseSpelled(key)) ||
    "method" in input && "auth" in input && keys.every(isField) && isBareAuth(input.auth);
}

const isField = (name: string): boolean => Object.hasOwn(schema.shape, name);

/** `Method` and the like, which only this format takes for `method`. */
const isOtherwiseSpelled = (key: string): boolean => !isField(key) && isField(key.toLowerCase());

/** Credentials that do not say of what kind they are. */
function isBareAuth(auth: unknown): boolean {
  return typeof auth === "object" && auth !== null && !("type" in auth) &&
    Object.keys(auth).some((key) => /^username$/i.test(key));
}

/** @throws HttpError 400 `description_invalid` */
export function parseProxyscotch(input: Record<string, unknown>): Job {
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
  for (const [name, value] of Object.entries(given.params ?? {})) description.url.searchParams.set(name, value);
  const format = { kind: "proxyscotch" as const, wantsBinary: given.wantsbinary ?? false };
  return { description, format, accessToken: given.accesstoken || null };
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

/** The answer in this format: a map of lower-case headers, of which the last of several counts. */
export function proxyscotchAnswer({ answer }: FollowedAnswer, bytes: Uint8Array, wantsBinary: boolean): Answer {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return answerJson({
    success: true,
    isBinary: wantsBinary,
    status: answer.status,
    statusText: answer.statusText,
    headers: Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value])),
    // Its base64 has no padding, and its clients expect none.
    data: wantsBinary ? view.toString("base64").replace(/=+$/, "") : view.toString("utf8"),
  });
}

/** A failure in this format: status 200, with the truth inside. */
export function proxyscotchFailure(error: HttpError): Answer {
  return answerJson({ success: false, data: { message: `(Proxy Error) ${error.message}` } }, [
    ["portway-error", error.code],
    EXPOSE_HEADERS,
  ]);
}

/** What is told to a page that asks whether a proxy is here. */
export function proxyscotchStatus(fingerprint: string, isProtected: boolean): Answer {
  return answerJson({ success: true, data: { sessionFingerprint: fingerprint, isProtected } });
}
