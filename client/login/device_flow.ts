import type { Connect } from "../../net/connection/mod.ts";
import { delay } from "../../common/delay.ts";
import {
  ApiRefused,
  ApiUnreachable,
  CLIENT_ID,
  type IssuedTokens,
  notPortway,
  type OAuthEndpoints,
  OAuthRefused,
  postForm,
  requestTokens,
} from "../api/mod.ts";
import { LoginFailed } from "./login_failed.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** Default polling interval, and the increment for `slow_down` (RFC 8628, sections 3.2 and 3.5). */
const DEFAULT_INTERVAL_S = 5;
const SLOWER_BY_S = 5;
/** Upper bound for the code's lifetime, which servers usually set to minutes. */
const LONGEST_S = 3600;

/** The instructions for the user, for a browser on any machine. */
export interface DeviceCode {
  /** The page where the user enters the code. */
  page: string;
  /** The same page with the code filled in, or null if the server offers none. */
  pageWithCode: string | null;
  userCode: string;
  /** The expiry time in Unix milliseconds. */
  expiresAt: number;
}

/** Options for a login with a code that the user enters in any browser (RFC 8628). */
export interface DeviceFlowOptions {
  connect: Connect;
  endpoints: OAuthEndpoints;
  scope: string;
  /** Cancels the login. */
  signal: AbortSignal;
  onCode(code: DeviceCode): void;
  /** Delays between polls; tests replace it. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Logs in with a code that the user enters on another device (RFC 8628).
 * @throws LoginFailed if denied, expired, cancelled or unsupported by the server; ApiUnreachable and ApiRefused if the
 * first request fails
 */
export async function logInByDevice(options: DeviceFlowOptions): Promise<IssuedTokens> {
  const { connect, endpoints, scope, signal } = options;
  if (endpoints.deviceAuthorization === null) {
    throw new LoginFailed(
      "this server does not support login by code: use --login --token with a token from its website",
    );
  }
  const fields = { client_id: CLIENT_ID, scope };
  const result = await postForm(connect, endpoints.deviceAuthorization, fields, signal).catch((error) => {
    throw error instanceof OAuthRefused
      ? new LoginFailed(`the server refused: ${error.message}`, { cause: error })
      : error;
  });
  const { deviceCode, interval, ...code } = parseDeviceCode(endpoints.token, result);
  options.onCode(code);
  return await poll(options, deviceCode, interval, code.expiresAt);
}

function parseDeviceCode(
  server: URL,
  result: Record<string, unknown>,
): DeviceCode & { deviceCode: string; interval: number } {
  const { device_code: deviceCode, user_code: userCode, verification_uri: page, verification_uri_complete: full } =
    result;
  if (typeof deviceCode !== "string" || typeof userCode !== "string" || !/^[\x21-\x7e]{1,64}$/.test(userCode)) {
    throw notPortway(server);
  }
  if (!isPage(page)) throw notPortway(server);
  const seconds = typeof result.expires_in === "number" ? Math.min(result.expires_in, LONGEST_S) : LONGEST_S;
  const interval = typeof result.interval === "number" && result.interval > 0 ? result.interval : DEFAULT_INTERVAL_S;
  const expiresAt = Date.now() + seconds * 1000;
  return { deviceCode, userCode, page, pageWithCode: isPage(full) ? full : null, expiresAt, interval };
}

/** Checks for a printable ASCII URL, which cannot inject terminal control sequences. */
const isPage = (value: unknown): value is string =>
  typeof value === "string" && /^https?:\/\/[\x21-\x7e]+$/.test(value);

async function poll(
  { connect, endpoints, signal, wait = delay }: DeviceFlowOptions,
  deviceCode: string,
  interval: number,
  expiresAt: number,
): Promise<IssuedTokens> {
  for (let seconds = interval; Date.now() < expiresAt;) {
    await wait(seconds * 1000, signal);
    if (signal.aborted) throw new LoginFailed("the login was cancelled");
    try {
      return await requestTokens(connect, endpoints, { grant_type: GRANT, device_code: deviceCode }, signal);
    } catch (error) {
      seconds = waitLonger(error, seconds);
    }
  }
  throw new LoginFailed("the code expired before it was entered");
}

/** Returns the seconds until the next poll, or throws if another poll cannot succeed. */
function waitLonger(error: unknown, seconds: number): number {
  // The server may be restarting, or the network offline: polling backs off until the code expires.
  if (error instanceof ApiUnreachable) return Math.min(seconds * 2, 60);
  if (error instanceof ApiRefused || !(error instanceof OAuthRefused)) throw error;
  switch (error.code) {
    case "authorization_pending":
      return seconds;
    case "slow_down":
      return seconds + SLOWER_BY_S;
    case "access_denied":
      throw new LoginFailed("the login was denied in the browser", { cause: error });
    case "expired_token":
      throw new LoginFailed("the code expired before it was entered", { cause: error });
    default:
      throw new LoginFailed(`the server refused: ${error.message}`, { cause: error });
  }
}
