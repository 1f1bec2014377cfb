import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { Auth } from "./auth.ts";
import { ADDRESS_HEADER, USER_SUSPENDED } from "./auth_options.ts";

/** The request properties that a better-auth call needs. */
export interface Caller {
  /** The Cookie field as received. */
  cookie: string | null;
  address: string;
  userAgent: string | null;
}

/** The response from better-auth. */
export interface Called {
  readonly status: number;
  /** Parsed JSON, or null for an empty body. */
  readonly body: unknown;
  /** The values of `Set-Cookie`. */
  readonly cookies: readonly string[];
}

/** Calls better-auth through its HTTP interface, inside the process. */
export type Call = (
  path: string,
  caller: Caller,
  body?: Readonly<Record<string, unknown>>,
) => Promise<Called>;

/** Creates the function that calls better-auth. @param origin HQ's origin */
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

/** Characters of the User-Agent that a session stores. */
const MAX_USER_AGENT = 300;

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the cookies and the browser of an exchange for {@link Call}. */
export function callerOf(exchange: Exchange, address: string): Caller {
  return { cookie: exchange.header("cookie"), address, userAgent: exchange.header("user-agent") };
}

/** Returns a text field of a response, or null. */
export function fieldText(body: unknown, field: string): string | null {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, field)) return null;
  const value: unknown = Reflect.get(body, field);
  return typeof value === "string" ? value : null;
}

/** Errors for the refusal codes of better-auth. */
const REFUSALS: Readonly<Record<string, () => HttpError>> = {
  INVALID_EMAIL_OR_PASSWORD: () => wrongCredentials("The email address or the password is wrong."),
  INVALID_PASSWORD: () => wrongCredentials("The password is wrong."),
  INVALID_TOKEN: () => new HttpError(400, "link_invalid", "This link was used already, or it is too old."),
  invalid_signature: () => loginExpired(),
  [USER_SUSPENDED]: () => userSuspended(),
};

/**
 * Returns the body of a successful response.
 * @throws HttpError for a known refusal; an Error for any other, which is a defect
 */
export function unwrap({ status, body }: Called): unknown {
  if (status < 400) return body;
  const code = fieldText(body, "code") ?? fieldText(body, "error") ?? "";
  const message = fieldText(body, "message") ?? fieldText(body, "error_description") ?? code;
  const refusal = REFUSALS[code];
  if (refusal !== undefined) throw refusal();
  throw new Error(`better-auth refused: ${status} ${code} ${message}`);
}

/** 400 `login_expired`: a login's query is too old or lacks this server's signature. */
export const loginExpired = (): HttpError =>
  new HttpError(400, "login_expired", "This login is too old.", {
    details: "Start it again in the terminal.",
  });

/** 403 `user_suspended`: an admin suspended this user. */
export const userSuspended = (): HttpError =>
  new HttpError(403, "user_suspended", "This user was suspended.", { details: "Ask an admin of this server." });

/** 404 `not_found`, also for another user's objects. @param what the noun in lower case, such as `session` */
export const noSuch = (what: string): HttpError => new HttpError(404, "not_found", `This ${what} does not exist.`);

/** 403 `not_allowed`: the role is insufficient. @param details the required role, as a sentence */
export const notAllowed = (details: string): HttpError =>
  new HttpError(403, "not_allowed", "You may not do this.", { details });

const wrongCredentials = (message: string): HttpError => new HttpError(401, "wrong_credentials", message);
