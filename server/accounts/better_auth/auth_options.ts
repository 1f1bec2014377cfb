import type { BetterAuthOptions } from "better-auth";
import { type Plan, SCOPES } from "../../access/mod.ts";
import type { Store } from "../../store/mod.ts";
import { loadPasswords, loadPasswordSignIn } from "./passwords.ts";

/** Settings for better-auth. */
export interface AuthOptions {
  store: Pick<Store, "db" | "dialect" | "identities">;
  /** The origin at which browsers reach HQ. Sessions and OAuth belong to it. */
  origin: string;
  /** Signs cookies and queries, and encrypts keys: at least 32 random bytes, as text. */
  secret: string;
  /** The plan that new accounts get. */
  defaultPlan: Plan;
  /** Receives defects in better-auth. Mistakes by clients are not reported. */
  onDefect(message: string): void;
  /** Called after a user set a new password through a link. */
  onPasswordReset(userId: string): Promise<void>;
}

/** Returns the name of a browser's session cookie. With TLS no other host can set it, not even a sibling. */
export const sessionCookieOf = (origin: string): string => `${cookiePrefix(origin)}.session_token`;

const cookiePrefix = (origin: string): string => isSecure(origin) ? "__Host-portway" : "portway";
const isSecure = (origin: string): boolean => origin.startsWith("https:");

const HOUR = 3600, DAY = 24 * HOUR;

/** The OAuth client that the command line uses. */
export const CLI_CLIENT_ID = "portway-cli";

/** The name that users see for it. */
export const CLI_CLIENT_NAME = "Portway on the command line";

/** The lifetime of a browser's session. */
const SESSION_SECONDS = 30 * DAY;
/** Each use looks the access token up, so its short life only limits the damage from a stolen token. */
const ACCESS_TOKEN_SECONDS = HOUR / 4;
/** A client logs in again after this time without use. */
const REFRESH_TOKEN_SECONDS = 90 * DAY;
/** A client whose response was lost may use the same refresh token again within this time. */
export const REUSE_SECONDS = 30;

/** Characters. */
export const MIN_PASSWORD = 8, MAX_PASSWORD = 128;

/** The refusal code when a suspended user opens a session. */
export const USER_SUSPENDED = "USER_SUSPENDED";

/** The prefix of OAuth access tokens. It separates them from personal tokens and helps secret scanners. */
export const ACCESS_TOKEN_PREFIX = "pwa_";
/** The prefix of OAuth refresh tokens. */
export const REFRESH_TOKEN_PREFIX = "pwr_";

/** Passes the client's address to better-auth. A value from the client itself is replaced. */
export const ADDRESS_HEADER = "x-portway-address";

type Plugins = NonNullable<BetterAuthOptions["plugins"]>;
type DatabaseHooks = NonNullable<BetterAuthOptions["databaseHooks"]>;

/**
 * Returns the options for better-auth.
 * @param needAccount returns the account for a user's new session
 */
export async function loadAuthOptions(
  options: AuthOptions,
  needAccount: (userId: string) => Promise<string>,
): Promise<BetterAuthOptions> {
  const { store, origin, secret, onDefect, onPasswordReset } = options;
  return {
    appName: "Portway",
    baseURL: origin,
    basePath: "/api/auth",
    secret,
    // A transaction by better-auth would hold the only connection to SQLite while a password is hashed. Rows that
    // belong together are written by `store/accounts/`, in its own transactions.
    database: { db: store.db, type: store.dialect, transaction: false },
    telemetry: { enabled: false },
    logger: {
      level: "error",
      disableColors: true,
      log: (level, message) => {
        if (level === "error") onDefect(message);
      },
    },
    // Failures other than refusals reach the caller, such as an unavailable database.
    onAPIError: { throw: true, errorURL: `${origin}/authorize` },
    // This server limits attempts and checks origins before it calls better-auth.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: cookiePrefix(origin),
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure(origin), sameSite: "lax", httpOnly: true, path: "/" },
      disableOriginCheck: true,
      disableCSRFCheck: true,
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: { generateId: () => crypto.randomUUID() },
    },
    emailAndPassword: {
      enabled: true,
      password: await loadPasswords(),
      minPasswordLength: MIN_PASSWORD,
      maxPasswordLength: MAX_PASSWORD,
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: ({ user }) => onPasswordReset(user.id),
    },
    session: { expiresIn: SESSION_SECONDS, disableSessionRefresh: true },
    // Tokens from links are stored as hashes.
    verification: { storeIdentifier: "hashed" },
    user: {
      additionalFields: {
        isAdmin: { type: "boolean", required: true, defaultValue: false, input: false },
        suspended: { type: "boolean", required: true, defaultValue: false, input: false },
      },
    },
    databaseHooks: await createHooks(options, needAccount),
    plugins: await loadPlugins(options),
  };
}

async function createHooks(
  { store }: AuthOptions,
  needAccount: (userId: string) => Promise<string>,
): Promise<DatabaseHooks> {
  const { APIError } = await import("better-auth/api");
  return {
    session: {
      create: {
        before: async (session) => {
          if ((await store.identities.findUser(session.userId))?.isSuspended) {
            throw new APIError("FORBIDDEN", { code: USER_SUSPENDED, message: "This user was suspended." });
          }
          return { data: { ...session, activeOrganizationId: await needAccount(session.userId) } };
        },
      },
    },
  };
}

async function loadPlugins({ origin, defaultPlan }: AuthOptions): Promise<Plugins> {
  const [{ organization }, { jwt }, { oauthDeviceAuthorization, oauthProvider }] = await Promise.all([
    import("better-auth/plugins/organization"),
    import("better-auth/plugins/jwt"),
    import("@better-auth/oauth-provider"),
  ]);
  const plan = { type: "string", required: true, defaultValue: defaultPlan, input: false } as const;
  return [
    organization({
      invitationExpiresIn: 7 * DAY,
      requireEmailVerificationOnInvitation: false,
      schema: { organization: { additionalFields: { plan } } },
    }),
    jwt({ disableSettingJwtHeader: true, jwt: { issuer: origin } }),
    oauthProvider({
      loginPage: `${origin}/sign-in`,
      consentPage: `${origin}/authorize`,
      scopes: ["openid", "profile", "email", "offline_access", ...Object.keys(SCOPES)],
      grantTypes: ["authorization_code", "refresh_token"],
      accessTokenExpiresIn: ACCESS_TOKEN_SECONDS,
      refreshTokenExpiresIn: REFRESH_TOKEN_SECONDS,
      refreshTokenReuseInterval: REUSE_SECONDS,
      prefix: { opaqueAccessToken: ACCESS_TOKEN_PREFIX, refreshToken: REFRESH_TOKEN_PREFIX },
      postLogin: {
        page: `${origin}/authorize`,
        shouldRedirect: () => false,
        // A client's permissions apply to the account that its user chose.
        consentReferenceId: ({ session }) => readAccount(session),
      },
    }),
    oauthDeviceAuthorization({ verificationUri: `${origin}/device`, expiresIn: "15m" }),
    await loadPasswordSignIn(),
  ];
}

function readAccount(session: Record<string, unknown>): string | undefined {
  return typeof session.activeOrganizationId === "string" ? session.activeOrganizationId : undefined;
}
