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
/** RFC 8628, section 3.5: between two questions when the server names nothing, and what `slow_down` adds. */
const DEFAULT_INTERVAL_S = 5;
const SLOWER_BY_S = 5;
/** Servers name minutes; one that named years would never be given up. */
const LONGEST_S = 3600;

/** What the user has to do, on whatever machine has a browser. */
export interface DeviceCode {
  /** The page that asks for the code. */
  page: string;
  /** The same page with the code in it; null when the server has none. */
  pageWithCode: string | null;
  userCode: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** What a login by a code needs that is entered in any browser (RFC 8628). */
export interface DeviceFlowOptions {
  connect: Connect;
  endpoints: OAuthEndpoints;
  scope: string;
  /** Gives it up. */
  signal: AbortSignal;
  onCode(code: DeviceCode): void;
  /** Waits; by the clock when left out. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Logs in with a code that the user types on another device (RFC 8628).
 * @throws LoginFailed when it was denied, took too long or was given up, or the server has no such way; ApiUnreachable
 * and ApiRefused when the server cannot be asked in the first place
 */
export async function logInByDevice(options: DeviceFlowOptions): Promise<IssuedTokens> {
  const { connect, endpoints, scope, signal } = options;
  if (endpoints.deviceAuthorization === null) {
    throw new LoginFailed("this server has no login by code: use --login --token, with a token made on its site");
  }
  const fields = { client_id: CLIENT_ID, scope };
  const told = await postForm(connect, endpoints.deviceAuthorization, fields, signal).catch((error) => {
    throw error instanceof OAuthRefused
      ? new LoginFailed(`the server refused: ${error.message}`, { cause: error })
      : error;
  });
  const { deviceCode, interval, ...code } = parseDeviceCode(endpoints.token, told);
  options.onCode(code);
  return await poll(options, deviceCode, interval, code.expiresAt);
}

function parseDeviceCode(
  server: URL,
  told: Record<string, unknown>,
): DeviceCode & { deviceCode: string; interval: number } {
  const { device_code: deviceCode, user_code: userCode, verification_uri: page, verification_uri_complete: full } =
    told;
  if (typeof deviceCode !== "string" || typeof userCode !== "string" || !/^[\x21-\x7e]{1,64}$/.test(userCode)) {
    throw notPortway(server);
  }
  if (!isPage(page)) throw notPortway(server);
  const seconds = typeof told.expires_in === "number" ? Math.min(told.expires_in, LONGEST_S) : LONGEST_S;
  const interval = typeof told.interval === "number" && told.interval > 0 ? told.interval : DEFAULT_INTERVAL_S;
  const expiresAt = Date.now() + seconds * 1000;
  return { deviceCode, userCode, page, pageWithCode: isPage(full) ? full : null, expiresAt, interval };
}

/** A URL that is shown as it is: nothing in it steers a terminal. */
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
    if (signal.aborted) throw new LoginFailed("the login was given up");
    try {
      return await requestTokens(connect, endpoints, { grant_type: GRANT, device_code: deviceCode }, signal);
    } catch (error) {
      seconds = waitLonger(error, seconds);
    }
  }
  throw new LoginFailed("the code has expired: nobody entered it in time");
}

/** Seconds until the next question; throws when there is no use in another one. */
function waitLonger(error: unknown, seconds: number): number {
  // Someone restarts it, or the network is away: less often, until the code ends.
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
      throw new LoginFailed("the code has expired: nobody entered it in time", { cause: error });
    default:
      throw new LoginFailed(`the server refused: ${error.message}`, { cause: error });
  }
}
