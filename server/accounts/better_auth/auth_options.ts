import type { BetterAuthOptions } from "better-auth";
import { z } from "zod";
import { type Plan, SCOPES } from "../../access/mod.ts";
import type { Store } from "../../store/mod.ts";
import { Turns } from "./turns.ts";

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

/** The path of the sign-in by password, below `/api/auth`. */
export const SIGN_IN_PATH = "/portway/sign-in";
const WRONG_CREDENTIALS = "INVALID_EMAIL_OR_PASSWORD";

/** What access tokens of OAuth begin with: it tells them from personal ones, and lets scanners find leaked ones. */
export const ACCESS_TOKEN_PREFIX = "pwa_";
/** What refresh tokens of OAuth begin with. */
export const REFRESH_TOKEN_PREFIX = "pwr_";

/** Carries the address of who asks to better-auth; whatever a stranger sends in it is replaced. */
export const ADDRESS_HEADER = "x-portway-address";

type Plugins = NonNullable<BetterAuthOptions["plugins"]>;
type Passwords = NonNullable<NonNullable<BetterAuthOptions["emailAndPassword"]>["password"]>;
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

/** Each hash takes 32 MB and a tenth of a second of a processor: strangers must not have many made at once. */
const HASHES = { atATime: 2, waiting: 64 };

async function loadPasswords(): Promise<Passwords> {
  const { hashPassword, verifyPassword } = await import("better-auth/crypto");
  const turns = new Turns(HASHES);
  return {
    hash: (password) => turns.run(() => hashPassword(password)),
    verify: (pair) => turns.run(() => verifyPassword(pair)),
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

/**
 * Signs in by password. Better-auth's own endpoint refuses addresses without a dot in their domain, which servers in a
 * local network have. A client's login continues from here as from that endpoint, by `oauth_query`.
 */
async function loadPasswordSignIn(): Promise<Plugins[number]> {
  const [{ APIError, createAuthEndpoint }, { setSessionCookie }] = await Promise.all([
    import("better-auth/api"),
    import("better-auth/cookies"),
  ]);
  const body = z.object({ email: z.string(), password: z.string(), oauth_query: z.string().optional() });
  const signIn = createAuthEndpoint(SIGN_IN_PATH, { method: "POST", body }, async (context) => {
    const { internalAdapter, password: passwords } = context.context;
    const { email, password } = context.body;
    const found = await internalAdapter.findUserByEmail(email, { includeAccounts: true });
    const hash = found?.accounts.find(({ providerId }) => providerId === "credential")?.password;
    // An unknown address takes as long as a wrong password.
    const isRight = hash ? await passwords.verify({ hash, password }) : await passwords.hash(password) === null;
    if (found === null || !isRight) throw new APIError("UNAUTHORIZED", { code: WRONG_CREDENTIALS });
    const session = await internalAdapter.createSession(found.user.id);
    await setSessionCookie(context, { session, user: found.user });
    return context.json({ token: session.token });
  });
  return { id: "portway", endpoints: { signIn } };
}

function readAccount(session: Record<string, unknown>): string | undefined {
  return typeof session.activeOrganizationId === "string" ? session.activeOrganizationId : undefined;
}
