import type { Identities, Store } from "../store/mod.ts";
import { type Plan, SCOPES } from "../access/mod.ts";
import { CLI_CLIENT_ID, CLI_CLIENT_NAME } from "./cli_client.ts";

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

/** Better-auth as we use it. Nothing of it is reached from outside but what `oauth_face.ts` lets through. */
export interface Auth {
  /** Answers a request below `/api/auth/`. */
  handle(request: Request): Promise<Response>;
  /** Makes a user with a password. Null when the address is in use. */
  createUser(user: NewUser): Promise<{ id: string } | null>;
  setUser(id: string, values: { isAdmin?: boolean; suspended?: boolean }): Promise<void>;
  /** Makes an account that a user owns. */
  createAccount(userId: string, name: string): Promise<{ id: string; plan: Plan }>;
  /** Keeps a text for some time, for whoever knows the name: the token of a link, say. */
  remember(name: string, value: string, seconds: number): Promise<void>;
  /** What {@link remember} kept, once. */
  recall(name: string): Promise<string | null>;
}

export interface NewUser {
  name: string;
  /** In lower case. */
  email: string;
  /** Null for one who sets it by a link. */
  password: string | null;
  isAdmin: boolean;
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

export const ACCESS_TOKEN_PREFIX = "pwa_";
export const REFRESH_TOKEN_PREFIX = "pwr_";

/** Loads better-auth, which takes some tenths of a second: only once somebody signs in or logs in. */
export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { store, origin, secret, defaultPlan } = options;
  const [{ betterAuth }, { APIError }, { organization }, { jwt }, provider] = await Promise.all([
    import("better-auth"),
    import("better-auth/api"),
    import("better-auth/plugins/organization"),
    import("better-auth/plugins/jwt"),
    import("@better-auth/oauth-provider"),
  ]);
  const auth = betterAuth({
    appName: "Portway",
    baseURL: origin,
    basePath: "/api/auth",
    secret,
    // No transactions: one would hold the only connection to SQLite while a password is hashed. What they would keep
    // together mends itself: a session makes the account that its user lacks, a reset the password.
    database: { db: store.db, type: store.dialect, transaction: false },
    telemetry: { enabled: false },
    logger: {
      level: "error",
      disableColors: true,
      log: (level, message) => {
        if (level === "error") options.onDefect(message);
      },
    },
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
      minPasswordLength: MIN_PASSWORD,
      maxPasswordLength: MAX_PASSWORD,
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: ({ user }) => options.onPasswordReset(user.id),
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
    databaseHooks: {
      session: {
        create: {
          before: async (session) => {
            if ((await store.identities.findUser(session.userId))?.isSuspended) {
              throw new APIError("FORBIDDEN", { code: USER_SUSPENDED, message: "This user was suspended." });
            }
            return {
              data: { ...session, activeOrganizationId: await chooseAccount(store.identities, session.userId) },
            };
          },
        },
      },
    },
    onAPIError: { errorURL: `${origin}/authorize` },
    plugins: [
      organization({
        invitationExpiresIn: 7 * DAY,
        requireEmailVerificationOnInvitation: false,
        schema: {
          organization: {
            additionalFields: {
              plan: { type: "string", required: true, defaultValue: defaultPlan, input: false },
            },
          },
        },
      }),
      jwt({ disableSettingJwtHeader: true, jwt: { issuer: origin } }),
      provider.oauthProvider({
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
      provider.oauthDeviceAuthorization({ verificationUri: `${origin}/device`, expiresIn: "15m" }),
    ],
  });
  const { adapter, internalAdapter, password } = await auth.$context;
  await addCliClient(adapter);
  return {
    handle: (request) => auth.handler(request),
    async createUser({ name, email, isAdmin, ...user }) {
      if (await internalAdapter.findUserByEmail(email) !== null) return null;
      const hash = user.password === null ? null : await password.hash(user.password);
      const { id } = await internalAdapter.createUser({ name, email, emailVerified: false, isAdmin }, {
        method: "email-password",
      });
      if (hash !== null) {
        await internalAdapter.linkAccount({ userId: id, providerId: "credential", accountId: id, password: hash });
      }
      return { id };
    },
    async setUser(id, values) {
      await internalAdapter.updateUser(id, values);
    },
    async createAccount(userId, name) {
      const createdAt = new Date();
      const organization = await adapter.create<{ id: string }>({
        model: "organization",
        data: { name, slug: crypto.randomUUID(), createdAt, plan: defaultPlan },
      });
      await adapter.create({
        model: "member",
        data: { organizationId: organization.id, userId, role: "owner", createdAt },
      });
      return { id: organization.id, plan: defaultPlan };
    },
    async remember(name, value, seconds) {
      const expiresAt = new Date(Date.now() + seconds * 1000);
      await internalAdapter.createVerificationValue({ identifier: name, value, expiresAt });
    },
    async recall(name) {
      return (await internalAdapter.consumeVerificationValue(name))?.value ?? null;
    },
  };
}

/** Carries the address of who asks to better-auth; whatever a stranger sends in it is replaced. */
export const ADDRESS_HEADER = "x-portway-address";

async function chooseAccount(identities: Identities, userId: string): Promise<string | null> {
  return (await identities.findMemberships(userId))[0]?.accountId ?? null;
}

function readAccount(session: Record<string, unknown>): string | undefined {
  return typeof session.activeOrganizationId === "string" ? session.activeOrganizationId : undefined;
}

interface ClientStore {
  findOne(query: { model: string; where: { field: string; value: string }[] }): Promise<unknown>;
  create(query: { model: string; data: Record<string, unknown> }): Promise<unknown>;
}

/** The command line's client: public, as a program in everybody's hands keeps no secret. */
async function addCliClient(adapter: ClientStore): Promise<void> {
  const where = [{ field: "clientId", value: CLI_CLIENT_ID }];
  if (await adapter.findOne({ model: "oauthClient", where }) !== null) return;
  const now = new Date();
  try {
    await adapter.create({
      model: "oauthClient",
      data: {
        clientId: CLI_CLIENT_ID,
        name: CLI_CLIENT_NAME,
        applicationType: "native",
        tokenEndpointAuthMethod: "none",
        requirePKCE: true,
        redirectUris: ["http://localhost:7332/"],
        grantTypes: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        responseTypes: ["code"],
        createdAt: now,
        updatedAt: now,
      },
    });
  } catch (error) {
    // Another server on the same database was first.
    if (await adapter.findOne({ model: "oauthClient", where }) === null) throw error;
  }
}
