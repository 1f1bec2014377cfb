import type { OriginReader } from "../../net/forwarded.ts";
import { describeError, type Logger } from "../../common/log.ts";
import { type Ended, type Plan, requireOwnOrigin } from "../access/mod.ts";
import type { Store } from "../store/mod.ts";
import { AdminForms } from "./forms/admin.ts";
import { Attempts } from "./attempts.ts";
import { Audit, SERVER } from "./audit.ts";
import { type Auth, openAuth } from "./better_auth/auth.ts";
import { sessionCookieOf } from "./better_auth/auth_options.ts";
import { createCall, noSuch } from "./better_auth/call.ts";
import { ClientForms } from "./forms/clients.ts";
import { ConsentForms } from "./forms/consent.ts";
import { EntryForms } from "./forms/entry.ts";
import { Identifier, type Identity, toAccount, toPlan } from "./identify.ts";
import { createMailer } from "./mail.ts";
import { MemberForms } from "./forms/members.ts";
import { createOAuthHandlers } from "./oauth_handler.ts";
import { createAccountsApi, tokenBound } from "./routes.ts";
import { createSecret } from "../../common/secret.ts";
import { SessionForms } from "./forms/sessions.ts";
import type { Shared } from "./forms/shared.ts";
import type { Accounts, FirstAdmin, SignUpPolicy } from "./types.ts";

/** The accounts' dependencies on the server, and the operator's choices. */
export interface AccountsOptions {
  store: Store;
  log: Logger;
  readOrigin: OriginReader;
  /** HQ's origin, such as `https://example.com`. Pages, sessions and OAuth belong to it. */
  origin: string;
  signUp: SignUpPolicy;
  /** The plan that new accounts get. */
  defaultPlan: Plan;
  /** The mail server and sender; null where mail is not configured. */
  mail: { url: string; from: string } | null;
}

const RESET_SECONDS = 24 * 3600;
/** The interval for removing expired rows. Unauthenticated clients can create codes that are never redeemed. */
const SWEEP_MS = 10 * 60_000;

/** Creates users and accounts. The first sign-in or login loads better-auth. The caller closes the result. */
export function createAccounts(options: AccountsOptions): Accounts {
  const { store, log, origin } = options;
  const { identities } = store;
  const listeners = new Set<(ended: Ended) => void>();
  const shared = createShared(options, listeners);
  const { identify, mailer } = shared;
  const createLink = (userId: string) => createResetLink(shared, userId);
  const switchAccount = async (identity: Identity, accountId: string) => {
    await moveTo(store, identity, accountId);
    const { account, login } = identity.principal;
    if (login === undefined || account.id === accountId) shared.onChange();
    else shared.onEnded({ login, leftAccountId: account.id });
  };
  const sweep = startSweep(identities, log);
  return {
    handlers: createOAuthHandlers({ ...shared, onReplay: (userId) => noteReplay(shared.audit, log, userId) }),
    api: createAccountsApi({ store, identify, switchAccount }),
    authenticate: async (exchange) => (await identify(exchange))?.principal ?? null,
    checkOrigin: (exchange) => requireOwnOrigin(exchange, origin),
    planOf: async (accountId) => toPlan(await identities.findPlan(accountId)),
    isSuspended: async (userId) => (await identities.findUser(userId))?.isSuspended ?? true,
    accountsOf: async ({ user }) => (await identities.findMemberships(user.id)).map(toAccount),
    note: (principal, action, subject) => shared.audit.note(principal, action, subject),
    entry: new EntryForms({
      ...shared,
      log,
      createResetLink: createLink,
      policy: options.signUp,
      plan: options.defaultPlan,
    }),
    consent: new ConsentForms({ ...shared, switchAccount }),
    members: new MemberForms({ ...shared, switchAccount, plan: options.defaultPlan }),
    clients: new ClientForms(shared),
    sessions: new SessionForms(shared),
    admin: new AdminForms({ ...shared, createResetLink: createLink }),
    addFirstAdmin: (admin) => addFirstAdmin(shared, admin),
    onEnded: (listener) => void listeners.add(listener),
    close() {
      clearInterval(sweep);
      mailer?.close();
    },
  };
}

function createShared(options: AccountsOptions, listeners: ReadonlySet<(ended: Ended) => void>): Shared {
  const { store, log, readOrigin, origin } = options;
  const now = Date.now;
  const audit = new Audit(store.auditLog, now);
  const onChange = () => identifier.forget();
  const onEnded = (ended: Ended) => {
    onChange();
    for (const listener of listeners) listener(ended);
  };
  const loadAuth = onceUntilFailed(() =>
    loadBetterAuth(options, (userId) => endAfterReset({ store, audit, onEnded }, userId))
  );
  const call = createCall(loadAuth, origin);
  const identifier = new Identifier({
    store,
    call,
    origin,
    sessionCookie: sessionCookieOf(origin),
    now,
    onFailure: (error) => log.warn("token_use_not_noted", { reason: describeError(error) }),
  });
  return {
    store,
    call,
    loadAuth,
    identify: (exchange) => identifier.identify(exchange),
    readOrigin,
    attempts: new Attempts(),
    audit,
    mailer: options.mail === null ? null : createMailer({ ...options.mail, log }),
    origin,
    now,
    onChange,
    onEnded,
  };
}

/** Creates the admin that the operator's options name, with an account, unless a user exists. */
async function addFirstAdmin(
  { audit, loadAuth, store }: Pick<Shared, "audit" | "loadAuth" | "store">,
  { email, password }: FirstAdmin,
): Promise<void> {
  const passwordHash = await (await loadAuth()).hashPassword(password);
  // The operator pays for the server, whatever plan other new accounts get.
  const plan = "paid";
  const user = { name: email.split("@", 1)[0], email, passwordHash, isAdmin: true, plan };
  // Another server on the same database may have been first.
  if (typeof await store.identities.addUser(user, "first") === "object") {
    await audit.write(SERVER, "admin_added", email);
  }
}

/** Ends all logins after a user set a new password. */
async function endAfterReset(
  { store, audit, onEnded }: Pick<Shared, "store" | "audit" | "onEnded">,
  userId: string,
): Promise<void> {
  // A thief who knew the old password may have created grants and tokens with it.
  await store.identities.endGrants({ userId });
  await store.personalTokens.remove({ userId });
  onEnded({ userId, accountId: null });
  const email = (await store.identities.findUser(userId))?.email ?? userId;
  await audit.write({ id: userId, email }, "password_reset", email);
}

async function noteReplay(audit: Audit, log: Logger, userId: string): Promise<void> {
  log.warn("login_replayed", { user: userId });
  await audit.write(SERVER, "client_revoked", `${userId}: a code or a refresh token was used twice`);
}

async function createResetLink({ loadAuth, origin }: Shared, userId: string): Promise<string> {
  const token = createSecret();
  await (await loadAuth()).remember(`reset-password:${token}`, userId, RESET_SECONDS);
  return `${origin}/reset?token=${token}`;
}

function startSweep(identities: Store["identities"], log: Logger): ReturnType<typeof setInterval> {
  return setInterval(() => {
    identities.removeExpired(Date.now()).catch((error) => log.warn("sweep_failed", { reason: describeError(error) }));
  }, SWEEP_MS);
}

async function loadBetterAuth(
  { store, log, origin, defaultPlan }: AccountsOptions,
  onPasswordReset: (userId: string) => Promise<void>,
): Promise<Auth> {
  const secret = await store.settings.getOrAdd("secret", createSecret());
  const onDefect = (message: string) => log.error("sign_in_failed", { reason: message });
  return await openAuth({ store, origin, secret, defaultPlan, onDefect, onPasswordReset });
}

/**
 * Returns the result from the first call to `load`. A failure is passed on and not stored, unlike in a `Lazy`: a
 * database that is away deserves another attempt later.
 */
function onceUntilFailed<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null;
  return () =>
    loaded ??= load().catch((error) => {
      loaded = null;
      throw error;
    });
}

/**
 * Moves a credential to another account of its user.
 * @throws HttpError 404 for an account without that member, 403 `token_bound` for a personal token
 */
async function moveTo(
  { identities }: Pick<Store, "identities">,
  { principal, credential }: Identity,
  accountId: string,
): Promise<void> {
  const memberships = await identities.findMemberships(principal.user.id);
  if (!memberships.some((membership) => membership.accountId === accountId)) throw noSuch("account");
  switch (credential.kind) {
    case "session":
      return await identities.moveSession(credential.token, accountId);
    case "grant":
      return await identities.moveGrant(credential.grantId, accountId);
    case "personal":
      throw tokenBound();
  }
}
