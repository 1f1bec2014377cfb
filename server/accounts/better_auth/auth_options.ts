import type { BetterAuthOptions } from "better-auth";
import { type Plan, SCOPES } from "../../access/mod.ts";
import type { Store } from "../../store/mod.ts";
import { loadPasswords, loadPasswordSignIn } from "./passwords.ts";

/** What better-auth is set up with. */
export interface AuthOptions {
  store: Pick<Store, "db" | "dialect" | "identities">;
  /** Where browsers reach HQ: sessions and OAuth belong to this origin. */
  origin: string;
  /** Signs cookies and queries, and encrypts keys: 32 random bytes or more, as text. */
  secret: string;
  /** The plan of new accounts. */
  defaultPlan: Plan;
  /** Hears of defects of better-auth; what strangers do wrong is not told. */
  onDefect(message: string): void;
  /** A user has set a new password by a link. */
  onPasswordReset(userId: string): Promise<void>;
}

/** The name of the cookie of a browser's session. With TLS no other host, be it a sibling, can set it. */
export const sessionCookieOf = (origin: string): string => `${cookiePrefix(origin)}.session_token`;

const cookiePrefix = (origin: string): string => isSecure(origin) ? "__Host-portway" : "portway";
const isSecure = (origin: string): boolean => origin.startsWith("https:");

const HOUR = 3600, DAY = 24 * HOUR;

/** The OAuth client that the command line logs in as. */
export const CLI_CLIENT_ID = "portway-cli";

/** What its users read. */
export const CLI_CLIENT_NAME = "Portway on the command line";

/** How long a browser stays signed in. */
const SESSION_SECONDS = 30 * DAY;
/** Access tokens are looked up at every use; their short life only bounds what a stolen one is good for. */
const ACCESS_TOKEN_SECONDS = HOUR / 4;
/** A client that nobody uses for so long logs in again. */
const REFRESH_TOKEN_SECONDS = 90 * DAY;
/** A client whose answer was lost may ask with the same refresh token again. */
export const REUSE_SECONDS = 30;

/** Characters. */
export const MIN_PASSWORD = 8, MAX_PASSWORD = 128;

/** The code of the refusal to open a session for a user who was suspended. */
export const USER_SUSPENDED = "USER_SUSPENDED";

/** What access tokens of OAuth begin with: it tells them from personal ones, and lets scanners find leaked ones. */
export const ACCESS_TOKEN_PREFIX = "pwa_";
/** What refresh tokens of OAuth begin with. */
export const REFRESH_TOKEN_PREFIX = "pwr_";

/** Carries the address of who asks to better-auth; whatever a stranger sends in it is replaced. */
export const ADDRESS_HEADER = "x-portway-address";

type Plugins = NonNullable<BetterAuthOptions["plugins"]>;
type DatabaseHooks = NonNullable<BetterAuthOptions["databaseHooks"]>;

/**
 * Better-auth as we want it.
 * @param needAccount gives the account that a new session of a user works for
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
    // A transaction of better-auth would hold the only connection to SQLite while it hashes a password. Rows that belong
    // together are written by `store/accounts/`, in transactions of our own.
    database: { db: store.db, type: store.dialect, transaction: false },
    telemetry: { enabled: false },
    logger: {
      level: "error",
      disableColors: true,
      log: (level, message) => {
        if (level === "error") onDefect(message);
      },
    },
    // What is no refusal comes out of the call, as a database that fails.
    onAPIError: { throw: true, errorURL: `${origin}/authorize` },
    // We limit attempts ourselves, and check origins before anything gets here.
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
    // The tokens of links are kept as hashes.
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
        // What a client may do is bound to the account its user chose.
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
