import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { describeError, type Logger } from "../../../common/log.ts";
import type { Plan } from "../../access/mod.ts";
import { SET_UP, type Store } from "../../store/mod.ts";
import { fieldRefused } from "../../http/mod.ts";
import { parseEmail } from "../../../common/email.ts";
import { MAX_PASSWORD, MIN_PASSWORD } from "../better_auth/auth_options.ts";
import { SIGN_IN_PATH } from "../better_auth/passwords.ts";
import { type Called, type Caller, callerOf, fieldText, unwrap } from "../better_auth/call.ts";
import { resetMail } from "../mail.ts";
import { hashSecret } from "../../../common/secret.ts";
import type { Shared } from "./shared.ts";
import type { Entered, SignIn, SignUpForm, SignUpPolicy } from "../types.ts";

/** The dependencies of the forms for signing up, in and out. */
export interface EntryOptions extends Omit<Shared, "store" | "origin" | "now"> {
  store: Pick<Store, "identities" | "settings">;
  log: Logger;
  /** Creates a link through which a user sets a new password. */
  createResetLink(userId: string): Promise<string>;
  policy: SignUpPolicy;
  /** The plan that new accounts get. */
  plan: Plan;
}

interface NewUserIds {
  id: string;
  email: string;
}

/** The forms for signing up, in and out. */
export class EntryForms implements SignIn {
  readonly #options: EntryOptions;

  constructor(options: EntryOptions) {
    this.#options = options;
  }

  get policy(): SignUpPolicy {
    return this.#options.policy;
  }

  get sendsMail(): boolean {
    return this.#options.mailer !== null;
  }

  async needsSetUp(): Promise<boolean> {
    const { identities, settings } = this.#options.store;
    return await settings.get(SET_UP) !== null && !await identities.hasUsers();
  }

  async setUp(exchange: Exchange, { token, ...form }: SignUpForm & { token: string }): Promise<Entered> {
    const setUpHash = hashSecret(token);
    if (await this.#options.store.settings.get(SET_UP) !== setUpHash) throw setUpLinkInvalid();
    await this.#addUser(form, { setUpHash });
    return await this.signIn(exchange, form);
  }

  async signIn(
    exchange: Exchange,
    form: { email: string; password: string; oauthQuery?: string },
  ): Promise<Entered> {
    const { attempts, call } = this.#options;
    const caller = this.#callerOf(exchange), email = readEmail(form.email);
    attempts.take(caller.address, email);
    if (form.password === "") throw fieldRefused("password", "Enter a password.");
    if (form.password.length > MAX_PASSWORD) {
      throw fieldRefused("password", `A password has at most ${MAX_PASSWORD} characters.`);
    }
    const body = { email, password: form.password, oauth_query: form.oauthQuery };
    const entered = readEntered(await call(SIGN_IN_PATH, caller, body));
    attempts.succeed(caller.address, email);
    return entered;
  }

  async signUp(
    exchange: Exchange,
    { oauthQuery, invitationId, ...form }: SignUpForm & { invitationId?: string; oauthQuery?: string },
  ): Promise<Entered> {
    const { attempts, policy, store } = this.#options;
    const email = readEmail(form.email);
    attempts.take(this.#callerOf(exchange).address, email);
    const isInvited = invitationId !== undefined && await this.#isInvited(invitationId, email);
    const mayCome = policy === "open" || (policy === "invitation" && isInvited);
    // The first user is an admin, created through the link in the log.
    if (!mayCome || !await store.identities.hasUsers()) throw signUpClosed();
    const user = await this.#addUser(form, "always");
    const accountId = isInvited ? await this.#join(user, invitationId) : null;
    const entered = await this.signIn(exchange, { ...form, oauthQuery });
    if (accountId !== null) await this.#startIn(user.id, accountId);
    return entered;
  }

  async #isInvited(invitationId: string, email: string): Promise<boolean> {
    const [invitation] = await this.#options.store.identities.findInvitations({ id: invitationId });
    return invitation?.email === email && invitation.expiresAt > Date.now();
  }

  /** Makes a new user a member of the inviting account. @returns the account; null for a withdrawn invitation */
  async #join({ id, email }: NewUserIds, invitationId: string): Promise<string | null> {
    const { audit, store } = this.#options;
    const joined = await store.identities.acceptInvitation(invitationId, { id, email }, Date.now());
    if (typeof joined === "string") return null;
    await audit.write({ id, email }, "member_added", email, joined.accountId);
    return joined.accountId;
  }

  /** Moves the session of a new user to an account. */
  async #startIn(userId: string, accountId: string): Promise<void> {
    const { onChange, store: { identities } } = this.#options;
    for (const { token } of await identities.listSessions(userId)) await identities.moveSession(token, accountId);
    onChange();
  }

  async signOut(exchange: Exchange): Promise<Entered> {
    const { call, identify, onChange, onEnded } = this.#options;
    // A suspended user may sign out as well.
    const login = await identify(exchange).then((identity) => identity?.principal.login, () => undefined);
    const { cookies } = await call("/sign-out", this.#callerOf(exchange), {});
    if (login === undefined) onChange();
    else onEnded({ login });
    return { cookies, next: null };
  }

  async forgot(exchange: Exchange, form: { email: string }): Promise<void> {
    const { attempts, createResetLink, log, mailer, store } = this.#options;
    const email = readEmail(form.email);
    attempts.take(this.#callerOf(exchange).address, email);
    const user = await store.identities.findUserByEmail(email);
    if (user === null || mailer === null) return;
    // The response does not wait: its duration would reveal whether the user exists.
    createResetLink(user.id).then((link) => mailer.send(email, resetMail(user.name, link)))
      .catch((error) => log.error("mail_failed", { reason: describeError(error) }));
  }

  async reset(exchange: Exchange, { token, password }: { token: string; password: string }): Promise<void> {
    const { attempts, call } = this.#options;
    const caller = this.#callerOf(exchange);
    attempts.take(caller.address, null);
    unwrap(await call("/reset-password", caller, { token, newPassword: readNewPassword(password) }));
  }

  async changePassword(exchange: Exchange, form: { current: string; password: string }): Promise<Entered> {
    const { attempts, audit, call, identify, onEnded, store } = this.#options;
    const identity = await identify(exchange);
    if (identity?.credential.kind !== "session") throw sessionWanted();
    const { user } = identity.principal, caller = this.#callerOf(exchange);
    attempts.take(caller.address, user.email);
    const newPassword = readNewPassword(form.password);
    const body = { currentPassword: form.current, newPassword, revokeOtherSessions: true };
    const { identities } = store;
    const before = await identities.listSessionIds(user.id);
    const entered = readEntered(await call("/change-password", caller, body));
    const left = new Set(await identities.listSessionIds(user.id));
    const grants = await identities.listGrants(user.id);
    await identities.endGrants({ userId: user.id });
    const ended = [...before.filter((id) => !left.has(id)), ...grants.map(({ grantId }) => grantId)];
    for (const login of ended) onEnded({ login });
    await audit.write(user, "password_changed", user.email);
    return entered;
  }

  /**
   * Creates a user, who is an admin when the set-up link was used. @throws HttpError 409 `email_taken`, 403
   * `set_up_link_invalid`
   */
  async #addUser(form: SignUpForm, condition: "always" | { setUpHash: string }): Promise<NewUserIds> {
    const { audit, loadAuth, plan, store } = this.#options;
    const name = readName(form.name), email = readEmail(form.email), password = readNewPassword(form.password);
    const isAdmin = condition !== "always", passwordHash = await (await loadAuth()).hashPassword(password);
    const user = { name, email, passwordHash, isAdmin, plan: isAdmin ? "paid" : plan };
    const added = await store.identities.addUser(user, condition);
    if (added === "email_taken") throw emailTaken();
    if (added === "refused") throw setUpLinkInvalid();
    await audit.write({ id: added.id, email }, isAdmin ? "admin_added" : "signed_up", email);
    return { id: added.id, email };
  }

  #callerOf(exchange: Exchange): Caller {
    return callerOf(exchange, this.#options.readOrigin(exchange).address);
  }
}

/** Returns the cookies from a successful call and the next URL in a client's login. */
export function readEntered(called: Called): Entered {
  return { cookies: called.cookies, next: fieldText(unwrap(called), "url") };
}

/** 403 `session_wanted`: the request had a token, but only a person in a browser may do this. */
export const sessionWanted = (): HttpError => new HttpError(403, "session_wanted", "This needs a signed-in browser.");

const setUpLinkInvalid = (): HttpError =>
  new HttpError(
    403,
    "set_up_link_invalid",
    "This link was used already, or it belongs to an earlier start of the server.",
    {
      details: "Restart the server: while it has no user, its log shows a new link.",
    },
  );

const signUpClosed = (): HttpError =>
  new HttpError(403, "sign_up_closed", "This server accepts new users only by invitation.", {
    details: "Ask an admin of this server.",
  });

const emailTaken = (): HttpError =>
  new HttpError(409, "email_taken", "A user with this email address already exists.", {
    details: "Sign in, or ask for a new password.",
  });

/** Returns an email address in lower case. @throws HttpError 400 */
export function readEmail(text: string): string {
  const email = parseEmail(text);
  if (email === null) throw fieldRefused("email", "Enter a valid email address.");
  return email;
}

/** Returns the name of a person, account or token: 1 to 100 visible characters. @throws HttpError 400 */
export function readName(text: string, field = "name"): string {
  const name = text.trim().replace(/\s+/g, " ");
  if (name === "") throw fieldRefused(field, "Enter a name.");
  if (name.length > 100 || /\p{Cc}/u.test(name)) throw fieldRefused(field, "A name has at most 100 characters.");
  return name;
}

/** Returns a new password. @throws HttpError 400 */
function readNewPassword(password: string): string {
  if (password.length >= MIN_PASSWORD && password.length <= MAX_PASSWORD) return password;
  throw fieldRefused("password", `A password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
}
