import type { Connect } from "../../net/connection/mod.ts";
import { LoginNeeded } from "./api_error.ts";
import type { Login, Logins } from "./logins.ts";
import { discoverOAuth, OAuthRefused, requestTokens } from "./oauth.ts";

/** A token with less time than this left is renewed first: it would expire on its way. */
const LEAST_LEFT_MS = 30_000;

/** Where the token comes from that requests carry. */
export interface TokenSource {
  /**
   * The one to send now.
   * @throws LoginNeeded when there is none; ApiUnreachable or ApiRefused when it had to be renewed and could not be
   */
  current(): Promise<string>;
  /** Another one after the server did not take `refused`; null when there is none. Throws as {@link current} does. */
  renew(refused: string): Promise<string | null>;
  /** What to tell the user when a server takes none of them. */
  explainRefused(server: URL): string;
}

/** One token that its user looks after. */
export function createFixedTokens(token: string, source: string): TokenSource {
  return {
    current: () => Promise.resolve(token),
    renew: () => Promise.resolve(null),
    explainRefused: (server) =>
      `the server ${server.origin} does not take the token in ${source}: it is wrong or revoked`,
  };
}

/** The server whose login is used, how it is asked for new tokens, and where the login is kept. */
export interface StoredTokensOptions {
  server: URL;
  connect: Connect;
  logins: Logins;
}

/** The login that is kept, renewed when its time is over and kept again. Several programs can use it at the same time. */
export function createStoredTokens(options: StoredTokensOptions): TokenSource {
  const { logins, server } = options;
  const explainRefused = () => `the login at ${server.origin} has ended: log in again with ${loginCommand(server)}`;
  const renew = (refused: string) => logins.withLock(server, () => renewOnce(options, refused));
  return {
    async current() {
      const login = logins.load(server);
      if (login === null) throw new LoginNeeded(`this needs a login at ${server.origin}: ${loginCommand(server)}`);
      if (login.expiresAt === null || login.expiresAt - Date.now() > LEAST_LEFT_MS) return login.accessToken;
      const renewed = await renew(login.accessToken);
      if (renewed === null) throw new LoginNeeded(explainRefused());
      return renewed;
    },
    renew,
    explainRefused,
  };
}

const loginCommand = (server: URL) => `portway --login --server ${server.origin}`;

async function renewOnce(options: StoredTokensOptions, refused: string): Promise<string | null> {
  const { server, connect, logins } = options;
  const login = logins.load(server);
  if (login === null) return null;
  // Another program was first.
  if (login.accessToken !== refused) return login.accessToken;
  if (login.refreshToken === null) return null;
  try {
    const endpoints = await discoverOAuth(connect, server);
    const grant = { grant_type: "refresh_token", refresh_token: login.refreshToken };
    const issued = await requestTokens(connect, endpoints, grant);
    const renewed: Login = { ...login, ...issued, refreshToken: issued.refreshToken ?? login.refreshToken };
    logins.save(renewed);
    return renewed.accessToken;
  } catch (error) {
    if (!(error instanceof OAuthRefused)) throw error;
    const now = logins.load(server);
    return now === null || now.accessToken === refused ? null : now.accessToken;
  }
}
