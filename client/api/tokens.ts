import type { Connect } from "../../net/connection/mod.ts";
import { LoginNeeded } from "./api_error.ts";
import type { Login, Logins } from "./logins.ts";
import { discoverOAuth, OAuthRefused, requestTokens } from "./oauth.ts";

/** A token with less time left is renewed before use, because it could expire in transit. */
const LEAST_LEFT_MS = 30_000;

/** Supplies access tokens for requests. */
export interface TokenSource {
  /**
   * Returns the current token.
   * @throws LoginNeeded if none exists; ApiUnreachable or ApiRefused if a renewal fails
   */
  current(): Promise<string>;
  /** Returns a new token after the server rejected `refused`, or null. Throws the errors of {@link current}. */
  renew(refused: string): Promise<string | null>;
  /** Returns the message for a user whose tokens the server rejects. */
  explainRefused(server: URL): string;
}

/** Creates a source with one fixed token, which the user manages. */
export function createFixedTokens(token: string, source: string): TokenSource {
  return {
    current: () => Promise.resolve(token),
    renew: () => Promise.resolve(null),
    explainRefused: (server) => `the server ${server.origin} rejected the token in ${source}: it is wrong or revoked`,
  };
}

/** The server of the login, the connector for renewals and the store. */
export interface StoredTokensOptions {
  server: URL;
  connect: Connect;
  logins: Logins;
}

/**
 * Creates a source that uses the stored login, renews it before it expires and stores the result. Several programs can
 * share the login.
 */
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
  // Another program renewed the login first.
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
