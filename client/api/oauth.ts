import type { Connect } from "../../net/connection/mod.ts";
import {
  ApiRefused,
  ApiUnreachable,
  asRecord,
  explainCallFailure,
  notPortway,
  parseJsonOrNull,
  parseRefusal,
} from "./api_error.ts";
import { call, type HttpCall, type HttpResponse } from "./http_call.ts";

/** What this program is called at every server. */
export const CLIENT_ID = "portway-cli";

/** Where a server's logins are made, renewed and ended (RFC 8414). */
export interface OAuthEndpoints {
  /** What callbacks name in `iss` (RFC 9207). */
  issuer: string;
  authorization: URL;
  token: URL;
  revocation: URL | null;
  deviceAuthorization: URL | null;
}

/** The token endpoint, or another one of those, refused (RFC 6749, section 5.2). */
export class OAuthRefused extends Error {
  override name = "OAuthRefused";
  /** Such as `invalid_grant` or `authorization_pending`. */
  readonly code: string;

  constructor(code: string, description: string | null) {
    super(description === null ? code : `${description} (${code})`);
    this.code = code;
  }
}

/** What a token endpoint gives. */
export interface IssuedTokens {
  accessToken: string;
  /** Null when the login ends with the access token. */
  refreshToken: string | null;
  /** Unix milliseconds; null when it is not told. */
  expiresAt: number | null;
}

/**
 * Asks a server for its endpoints.
 * @throws ApiUnreachable, ApiRefused
 */
export async function discoverOAuth(connect: Connect, server: URL, signal?: AbortSignal): Promise<OAuthEndpoints> {
  const url = new URL("/.well-known/oauth-authorization-server", server);
  const answer = await send(connect, { method: "GET", url, signal });
  if (answer.status === 404) {
    throw new ApiRefused(404, "no_accounts", `the server ${server.origin} has no accounts to log in to`);
  }
  if (answer.status !== 200) throw parseRefusal(server, answer.status, answer.text);
  const told = asRecord(parseJsonOrNull(answer.text));
  const authorization = readEndpoint(told.authorization_endpoint, server);
  const token = readEndpoint(told.token_endpoint, server);
  if (typeof told.issuer !== "string" || authorization === null || token === null) {
    throw notPortway(server);
  }
  return {
    issuer: told.issuer,
    authorization,
    token,
    revocation: readEndpoint(told.revocation_endpoint, server),
    deviceAuthorization: readEndpoint(told.device_authorization_endpoint, server),
  };
}

/** Secrets that went to the server by https go nowhere without it. */
function readEndpoint(value: unknown, server: URL): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return server.protocol === "https:" && url.protocol !== "https:" ? null : url;
}

/**
 * Sends a form to one of the endpoints and reads the object that it answers.
 * @throws OAuthRefused, ApiUnreachable, ApiRefused for what speaks no OAuth
 */
export async function postForm(
  connect: Connect,
  url: URL,
  fields: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams(fields).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await send(connect, { method: "POST", url, headers, body, signal });
  const told = asRecord(parseJsonOrNull(answer.text));
  if (answer.status >= 200 && answer.status < 300) return told;
  if (answer.status >= 500) throw new ApiUnreachable(`the server ${url.origin} is not available`);
  if (typeof told.error !== "string") throw notPortway(url);
  throw new OAuthRefused(told.error, typeof told.error_description === "string" ? told.error_description : null);
}

/**
 * Asks for tokens by one kind of grant.
 * @throws OAuthRefused, ApiUnreachable, ApiRefused
 */
export async function requestTokens(
  connect: Connect,
  { token }: OAuthEndpoints,
  grant: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<IssuedTokens> {
  const told = await postForm(connect, token, { client_id: CLIENT_ID, ...grant }, signal);
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = told;
  if (!isToken(accessToken)) throw notPortway(token);
  return {
    accessToken,
    refreshToken: isToken(refreshToken) ? refreshToken : null,
    expiresAt: typeof seconds === "number" && seconds > 0 ? Date.now() + seconds * 1000 : null,
  };
}

/** Whether it can be sent in a header as it is. */
export const isToken = (value: unknown): value is string => typeof value === "string" && /^[\x21-\x7e]+$/.test(value);

async function send(connect: Connect, request: HttpCall): Promise<HttpResponse> {
  return await call(connect, request).catch((error) => {
    throw explainCallFailure(request.url, error);
  });
}
