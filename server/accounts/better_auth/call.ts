import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { Auth } from "./auth.ts";
import { ADDRESS_HEADER, USER_SUSPENDED } from "./auth_options.ts";

/** What a call of better-auth needs to know of the request that it is made for. */
export interface Caller {
  /** The cookies as they were sent. */
  cookie: string | null;
  address: string;
  userAgent: string | null;
}

/** What better-auth answered. */
export interface Called {
  readonly status: number;
  /** Parsed JSON; null for none. */
  readonly body: unknown;
  /** Values of `Set-Cookie`. */
  readonly cookies: readonly string[];
}

/** Calls better-auth by its HTTP interface, inside the process. */
export type Call = (
  path: string,
  caller: Caller,
  body?: Readonly<Record<string, unknown>>,
) => Promise<Called>;

/** @param origin of HQ */
export function createCall(loadAuth: () => Promise<Auth>, origin: string): Call {
  return async (path, { cookie, address, userAgent }, body) => {
    const headers = new Headers({ accept: "application/json", [ADDRESS_HEADER]: address });
    if (cookie !== null) headers.set("cookie", cookie);
    if (userAgent !== null) headers.set("user-agent", userAgent.slice(0, MAX_USER_AGENT));
    if (body !== undefined) headers.set("content-type", "application/json");
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await (await loadAuth()).handle(new Request(`${origin}/api/auth${path}`, init));
    const text = await response.text();
    return { status: response.status, body: parse(text), cookies: response.headers.getSetCookie() };
  };
}

/** Characters of a browser's name that are kept with its session. */
const MAX_USER_AGENT = 300;

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The cookies and the browser of an exchange, for {@link Call}. */
export function callerOf(exchange: Exchange, address: string): Caller {
  return { cookie: exchange.header("cookie"), address, userAgent: exchange.header("user-agent") };
}

/** A text field of an answer, or null. */
export function fieldText(body: unknown, field: string): string | null {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, field)) return null;
  const value: unknown = Reflect.get(body, field);
  return typeof value === "string" ? value : null;
}

/** What better-auth's refusals mean to us, by their codes. */
const REFUSALS: Readonly<Record<string, () => HttpError>> = {
  INVALID_EMAIL_OR_PASSWORD: () => wrongCredentials("The email address or the password is wrong."),
  INVALID_PASSWORD: () => wrongCredentials("The password is wrong."),
  INVALID_TOKEN: () => new HttpError(400, "link_invalid", "This link was used already, or it is too old."),
  invalid_signature: () => loginExpired(),
  [USER_SUSPENDED]: () => userSuspended(),
};

/**
 * The body of a successful answer.
 * @throws HttpError for a refusal that we know, an Error for another, which is a defect
 */
export function unwrap({ status, body }: Called): unknown {
  if (status < 400) return body;
  const code = fieldText(body, "code") ?? fieldText(body, "error") ?? "";
  const message = fieldText(body, "message") ?? fieldText(body, "error_description") ?? code;
  const refusal = REFUSALS[code];
  if (refusal !== undefined) throw refusal();
  throw new Error(`better-auth refused: ${status} ${code} ${message}`);
}

/** 400 `login_expired`: the query of a login is too old, or is not one that this server signed. */
export const loginExpired = (): HttpError =>
  new HttpError(400, "login_expired", "This login was begun too long ago.", {
    details: "Begin it again in the terminal.",
  });

/** 403 `user_suspended`: an admin has shut this user out. */
export const userSuspended = (): HttpError =>
  new HttpError(403, "user_suspended", "This user was suspended.", { details: "Ask an admin of this server." });

/** 404 `not_found`, also for what belongs to somebody else. @param what in lower case, as `session` */
export const noSuch = (what: string): HttpError => new HttpError(404, "not_found", `There is no such ${what}.`);

/** 403 `not_allowed`: the role does not suffice. @param details who may, as a sentence */
export const notAllowed = (details: string): HttpError =>
  new HttpError(403, "not_allowed", "You may not do this.", { details });

const wrongCredentials = (message: string): HttpError => new HttpError(401, "wrong_credentials", message);
