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

/** The OAuth client ID at every server. */
export const CLIENT_ID = "portway-cli";

/** The server's OAuth endpoints (RFC 8414). */
export interface OAuthEndpoints {
  /** The expected `iss` value in redirects (RFC 9207). */
  issuer: string;
  authorization: URL;
  token: URL;
  revocation: URL | null;
  deviceAuthorization: URL | null;
}

/** An OAuth endpoint returned an error (RFC 6749, section 5.2). */
export class OAuthRefused extends Error {
  override name = "OAuthRefused";
  /** An OAuth error code, such as `invalid_grant` or `authorization_pending`. */
  readonly code: string;

  constructor(code: string, description: string | null) {
    super(description === null ? code : `${description} (${code})`);
    this.code = code;
  }
}

/** Tokens from the token endpoint. */
export interface IssuedTokens {
  accessToken: string;
  /** Null if the login ends with the access token. */
  refreshToken: string | null;
  /** The expiry time in Unix milliseconds; null if unknown. */
  expiresAt: number | null;
}

/**
 * Loads the server's OAuth metadata.
 * @throws ApiUnreachable, ApiRefused
 */
export async function discoverOAuth(connect: Connect, server: URL, signal?: AbortSignal): Promise<OAuthEndpoints> {
  const url = new URL("/.well-known/oauth-authorization-server", server);
  const response = await send(connect, { method: "GET", url, signal });
  if (response.status === 404) {
    throw new ApiRefused(404, "no_accounts", `the server ${server.origin} has no accounts to log in to`);
  }
  if (response.status !== 200) throw parseRefusal(server, response.status, response.text);
  const metadata = asRecord(parseJsonOrNull(response.text));
  const authorization = readEndpoint(metadata.authorization_endpoint, server);
  const token = readEndpoint(metadata.token_endpoint, server);
  if (typeof metadata.issuer !== "string" || authorization === null || token === null) {
    throw notPortway(server);
  }
  return {
    issuer: metadata.issuer,
    authorization,
    token,
    revocation: readEndpoint(metadata.revocation_endpoint, server),
    deviceAuthorization: readEndpoint(metadata.device_authorization_endpoint, server),
  };
}

/** Rejects an unencrypted endpoint if the server itself uses HTTPS, which keeps secrets encrypted. */
function readEndpoint(value: unknown, server: URL): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return server.protocol === "https:" && url.protocol !== "https:" ? null : url;
}

/**
 * Sends a form to an OAuth endpoint and returns the JSON object in the response.
 * @throws OAuthRefused; ApiUnreachable; ApiRefused if the peer does not support OAuth
 */
export async function postForm(
  connect: Connect,
  url: URL,
  fields: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams(fields).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await send(connect, { method: "POST", url, headers, body, signal });
  const result = asRecord(parseJsonOrNull(response.text));
  if (response.status >= 200 && response.status < 300) return result;
  if (response.status >= 500) throw new ApiUnreachable(`the server ${url.origin} is not available`);
  if (typeof result.error !== "string") throw notPortway(url);
  throw new OAuthRefused(result.error, typeof result.error_description === "string" ? result.error_description : null);
}

/**
 * Requests tokens with an OAuth grant.
 * @throws OAuthRefused, ApiUnreachable, ApiRefused
 */
export async function requestTokens(
  connect: Connect,
  { token }: OAuthEndpoints,
  grant: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<IssuedTokens> {
  const result = await postForm(connect, token, { client_id: CLIENT_ID, ...grant }, signal);
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = result;
  if (!isToken(accessToken)) throw notPortway(token);
  return {
    accessToken,
    refreshToken: isToken(refreshToken) ? refreshToken : null,
    expiresAt: typeof seconds === "number" && seconds > 0 ? Date.now() + seconds * 1000 : null,
  };
}

/** Returns whether a value can be sent unchanged in a header. */
export const isToken = (value: unknown): value is string => typeof value === "string" && /^[\x21-\x7e]+$/.test(value);

async function send(connect: Connect, request: HttpCall): Promise<HttpResponse> {
  return await call(connect, request).catch((error) => {
    throw explainCallFailure(request.url, error);
  });
}
