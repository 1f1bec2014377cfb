import { HttpError, nothingHere } from "../../common/http_error.ts";
import { networkOf, type OriginReader } from "../../net/forwarded.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import type { Ended } from "../access/mod.ts";
import type { Handler } from "../http/mod.ts";
import type { Store } from "../store/mod.ts";
import type { Auth } from "./better_auth/auth.ts";
import {
  ACCESS_TOKEN_PREFIX,
  ADDRESS_HEADER,
  CLI_CLIENT_ID,
  REFRESH_TOKEN_PREFIX,
  REUSE_SECONDS,
} from "./better_auth/auth_options.ts";
import { deviceAccountOf } from "./forms/consent.ts";
import { PERSONAL_TOKEN_PREFIX } from "./identify.ts";
import { createSecret, hashSecret } from "../../common/secret.ts";

/** The dependencies of the OAuth 2.1 endpoints. */
export interface OAuthHandlerOptions {
  loadAuth(): Promise<Auth>;
  store: Pick<Store, "identities" | "personalTokens">;
  readOrigin: OriginReader;
  /** HQ's origin. */
  origin: string;
  /** Called after a login ended. */
  onEnded(ended: Ended): void;
  /** Called after a code or refresh token was used a second time, which ended the login. */
  onReplay(userId: string): Promise<void>;
}

/** The better-auth endpoints that are reachable from outside: those for OAuth clients. */
const OPEN: ReadonlySet<string> = new Set([
  "GET /api/auth/oauth2/authorize",
  "POST /api/auth/oauth2/token",
  "POST /api/auth/oauth2/revoke",
  "GET /api/auth/oauth2/userinfo",
  "POST /api/auth/oauth2/userinfo",
  "POST /api/auth/device/code",
  "GET /api/auth/jwks",
]);

/** The paths of the metadata. OpenID Connect defines the first, RFC 8414 the third. */
const METADATA: ReadonlySet<string> = new Set([
  "/.well-known/openid-configuration",
  "/.well-known/oauth-authorization-server",
  "/.well-known/oauth-authorization-server/api/auth",
]);

/** Metadata fields that are passed on unchanged. The remaining ones describe disabled features. */
const PUBLIC_METADATA = [
  "issuer",
  "authorization_endpoint",
  "token_endpoint",
  "device_authorization_endpoint",
  "revocation_endpoint",
  "userinfo_endpoint",
  "jwks_uri",
  "scopes_supported",
  "response_types_supported",
  "response_modes_supported",
  "grant_types_supported",
  "code_challenge_methods_supported",
  "authorization_response_iss_parameter_supported",
  "subject_types_supported",
  "id_token_signing_alg_values_supported",
  "claims_supported",
];

const MAX_FORM_BYTES = 16 * 1024;

/** Creates the handlers that OAuth clients call. */
export function createOAuthHandlers(options: OAuthHandlerOptions): Handler[] {
  // A device polls every five seconds, and one address may have many users.
  const limiter = createRateLimiter({ burst: 120, perMinute: 120 });
  const turns = new TokenTurns();
  let metadata: string | null = null;

  async function respondTo(exchange: Exchange, path: string): Promise<Response> {
    if (METADATA.has(path)) {
      metadata ??= await readMetadata(await options.loadAuth(), options.origin);
      return new Response(metadata, { headers: { "content-type": "application/json", ...SHARED } });
    }
    if (!OPEN.has(`${exchange.method} ${path}`)) throw nothingHere();
    const { address } = options.readOrigin(exchange);
    const waitMs = limiter.take(networkOf(address));
    if (waitMs > 0) throw tooManyRequests(waitMs);
    if (path.endsWith("/authorize")) return await authorize(options, exchange, address);
    return await respondToClient(options, turns, exchange, path, address);
  }

  return ["/api/auth/", "/.well-known/"].map((prefix) => ({
    prefix,
    handle(exchange) {
      const path = exchange.path.split("?", 1)[0];
      return prefix === "/api/auth/" || METADATA.has(path) ? respondTo(exchange, path) : undefined;
    },
  }));
}

/** These responses contain no user data, so pages from any origin may read them. */
const SHARED = { "access-control-allow-origin": "*", "cache-control": "public, max-age=300" };

async function readMetadata(auth: Auth, origin: string): Promise<string> {
  const response = await auth.handle(new Request(`${origin}/.well-known/openid-configuration`));
  const metadata: unknown = await response.json();
  if (!response.ok || typeof metadata !== "object" || metadata === null) throw new Error("better-auth has no metadata");
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(metadata).filter(([name]) => PUBLIC_METADATA.includes(name))),
    // The only client is public.
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
  });
}

/** Starts a login: redirects to the sign-in page or to the consent page. */
async function authorize(
  { loadAuth, origin }: OAuthHandlerOptions,
  exchange: Exchange,
  address: string,
): Promise<Response> {
  const url = new URL(exchange.path, origin);
  const prompts = (url.searchParams.get("prompt") ?? "").split(" ").filter((prompt) => prompt === "login");
  // A local program can pose as this client, so the user always confirms (RFC 8252, section 8.6).
  url.searchParams.set("prompt", [...prompts, "consent"].join(" "));
  const headers = new Headers({ accept: "text/html", [ADDRESS_HEADER]: address });
  const cookie = exchange.header("cookie");
  if (cookie !== null) headers.set("cookie", cookie);
  return withoutStore(await (await loadAuth()).handle(new Request(url, { headers })));
}

/** Handles a request from a client. Cookies are neither read nor set. */
async function respondToClient(
  options: OAuthHandlerOptions,
  turns: TokenTurns,
  exchange: Exchange,
  path: string,
  address: string,
): Promise<Response> {
  const headers = new Headers({ accept: "application/json", [ADDRESS_HEADER]: address });
  for (const name of ["authorization", "content-type"]) {
    const value = exchange.header(name);
    if (value !== null) headers.set(name, value);
  }
  const body = exchange.method === "POST" ? await readForm(exchange) : undefined;
  const form = new URLSearchParams(body ?? "");
  if (path.endsWith("/revoke")) return withoutStore(await revoke(options, form));
  const request = new Request(new URL(exchange.path, options.origin), { method: exchange.method, headers, body });
  const auth = await options.loadAuth();
  const respond = () => auth.handle(request);
  if (path.endsWith("/token")) {
    const key = hashSecret(["code", "refresh_token", "device_code"].map((name) => form.get(name) ?? "").join(" "));
    return withoutStore(await turns.run(key, () => respondToTokenRequest(options, auth, form, respond)));
  }
  return withoutStore(await respond());
}

async function respondToTokenRequest(
  options: OAuthHandlerOptions,
  auth: Auth,
  form: URLSearchParams,
  respond: () => Promise<Response>,
): Promise<Response> {
  const { store, onEnded, onReplay } = options, kind = form.get("grant_type");
  if (kind === "refresh_token") {
    const hash = hashSecret(withoutPrefix(form.get("refresh_token") ?? ""));
    // Better-auth would end all logins of the user, on all machines.
    const replayed = await store.identities.findReplayed(hash, Date.now() - REUSE_SECONDS * 1000);
    if (replayed !== null) {
      await store.identities.endGrants({ grantId: replayed.grantId });
      onEnded({ login: replayed.grantId });
      await onReplay(replayed.userId);
    }
  }
  if (kind === "authorization_code") return await exchangeCode(options, form.get("code") ?? "", respond);
  const userCode = kind === DEVICE_GRANT ? await store.identities.findUserCode(form.get("device_code") ?? "") : null;
  const response = await respond();
  if (userCode === null || !response.ok) return response;
  const text = await response.text();
  await bindDevice(store, auth, userCode, JSON.parse(text));
  return new Response(text, { status: response.status, headers: response.headers });
}

/** Runs token requests with the same code or token one after the other. */
class TokenTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.catch(() => {});
    this.#last.set(key, settled);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}

/**
 * Exchanges a code for tokens. A second use of the code ends the login at once (RFC 6749, section 4.1.2), because one
 * of its two holders is a thief.
 */
async function exchangeCode(
  { store: { identities }, onEnded, onReplay }: OAuthHandlerOptions,
  code: string,
  respond: () => Promise<Response>,
): Promise<Response> {
  // Better-auth identifies a code's tokens by this hash.
  const grantId = hashSecret(code);
  const userId = await identities.findGrantUser(grantId);
  if (userId === null) return await respond().catch((error) => refuseReplay(error));
  await identities.endGrants({ grantId });
  onEnded({ login: grantId });
  await onReplay(userId);
  return codeUsed();
}

/**
 * Another server on the same database may exchange the code simultaneously. Its replay removes the refresh token to
 * which the access token from this exchange refers, which violates a foreign key.
 */
function refuseReplay(error: unknown): Response {
  if (error instanceof Error && /foreign key/i.test(error.message)) return codeUsed();
  throw error;
}

const codeUsed = (): Response =>
  Response.json({ error: "invalid_grant", error_description: "This code was used already." }, { status: 400 });

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** Links the tokens from a device code with each other and with their account. */
async function bindDevice(
  { identities }: Pick<Store, "identities">,
  auth: Auth,
  userCode: string,
  tokens: Readonly<Record<string, unknown>>,
): Promise<void> {
  const accountId = await auth.recall(deviceAccountOf(userCode));
  const texts = [tokens.access_token, tokens.refresh_token].filter((token) => typeof token === "string");
  const grantId = createSecret();
  if (accountId === null) throw new Error("no account is stored for the allowed device");
  for (const text of texts) await identities.nameGrant(hashSecret(withoutPrefix(text)), grantId, accountId);
}

/**
 * Ends all tokens of the login to which the token belongs. An unknown token gets the same response (RFC 7009, sections
 * 2.1 and 2.2). Better-auth would end all logins of the user for a used refresh token, and refuse unknown ones. With
 * `replaced_by`, an access token of the same user, the tunnels move to the new login: a user who logs in again expects
 * them to stay open.
 */
async function revoke({ store, onEnded }: OAuthHandlerOptions, form: URLSearchParams): Promise<Response> {
  const token = form.get("token");
  if (form.get("client_id") !== CLI_CLIENT_ID) return Response.json({ error: "invalid_client" }, { status: 401 });
  if (token === null) return Response.json({ error: "invalid_request" }, { status: 400 });
  const grant = await store.identities.findGrantOf(hashSecret(withoutPrefix(token)));
  if (grant !== null) {
    const { grantId: login, userId } = grant;
    const other = await findLogin(store, form.get("replaced_by") ?? "");
    await store.identities.endGrants({ grantId: login });
    const isReplaced = other?.userId === userId && other.login !== login;
    onEnded(isReplaced ? { login, successor: other.login } : { login });
  }
  return new Response(null, { status: 200 });
}

/** Finds the login for a valid access token or personal token; null for other texts. */
async function findLogin(
  { identities, personalTokens }: OAuthHandlerOptions["store"],
  token: string,
): Promise<{ userId: string; login: string } | null> {
  if (token.startsWith(ACCESS_TOKEN_PREFIX)) {
    const grant = await identities.findGrant(hashSecret(withoutPrefix(token)));
    return grant === null || grant.expiresAt <= Date.now() ? null : { userId: grant.userId, login: grant.grantId };
  }
  if (!token.startsWith(PERSONAL_TOKEN_PREFIX)) return null;
  const found = await personalTokens.findByHash(hashSecret(token));
  const isOver = found === null || (found.expiresAt !== null && found.expiresAt <= Date.now());
  return isOver ? null : { userId: found.userId, login: found.id };
}

function withoutPrefix(token: string): string {
  const prefix = [ACCESS_TOKEN_PREFIX, REFRESH_TOKEN_PREFIX].find((one) => token.startsWith(one));
  return prefix === undefined ? token : token.slice(prefix.length);
}

async function readForm(exchange: Exchange): Promise<string> {
  const decoder = new TextDecoder();
  let text = "", size = 0;
  for (let chunk = await exchange.readBody(); chunk !== null; chunk = await exchange.readBody()) {
    size += chunk.length;
    if (size > MAX_FORM_BYTES) throw new HttpError(413, "body_too_large", "This request is too large.");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Adds fields that keep tokens, and URLs with codes, out of caches and referrers. */
function withoutStore(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("cache-control", "no-store");
  headers.set("pragma", "no-cache");
  headers.set("referrer-policy", "no-referrer");
  return new Response(response.body, { status: response.status, headers });
}

function tooManyRequests(waitMs: number): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  return new HttpError(429, "too_many_requests", `Too many requests from this address. Try again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}
