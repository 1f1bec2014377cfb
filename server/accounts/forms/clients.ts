import { HttpError } from "../../../common/http_error.ts";
import type { Principal, Scope } from "../../access/mod.ts";
import { type AuditEntry, type Membership, type PersonalToken, type Store, TooManyTokens } from "../../store/mod.ts";
import { noSuch, notAllowed } from "../better_auth/call.ts";
import { CLI_CLIENT_NAME } from "../better_auth/auth_options.ts";
import { fieldRefused } from "../../http/mod.ts";
import { readName, sessionWanted } from "./entry.ts";
import { isScope, PERSONAL_TOKEN_PREFIX } from "../identify.ts";
import { createSecret, hashSecret } from "../../../common/secret.ts";
import type { Shared } from "./shared.ts";
import type { AuthorizedClient, Clients, TokenInfo } from "../types.ts";

/** The dependencies of the forms for logins and personal tokens. */
export interface ClientsOptions extends Pick<Shared, "audit" | "now" | "onEnded"> {
  store: Pick<Store, "identities" | "personalTokens" | "auditLog">;
}

/** Tokens per user. */
const MAX_TOKENS = 100;
const DAY_MS = 24 * 3600 * 1000;
/** Log entries per page. */
export const AUDIT_PAGE = 200;

/** The forms for logins and personal tokens. */
export class ClientForms implements Clients {
  readonly #options: ClientsOptions;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  async list({ user }: Principal): Promise<AuthorizedClient[]> {
    const { identities } = this.#options.store;
    const [grants, accounts] = await Promise.all([identities.listGrants(user.id), identities.findMemberships(user.id)]);
    const now = this.#options.now();
    return grants.filter(({ expiresAt }) => expiresAt > now).map((grant) => ({
      id: grant.grantId,
      client: CLI_CLIENT_NAME,
      account: nameOf(accounts, grant.accountId),
      scopes: grant.scopes.filter(isScope),
      usedAt: grant.createdAt,
      expiresAt: grant.expiresAt,
    }));
  }

  async revoke(principal: Principal, id: string): Promise<void> {
    requireSession(principal);
    const { audit, onEnded, store } = this.#options;
    const grants = await store.identities.listGrants(principal.user.id);
    const grant = grants.find(({ grantId }) => grantId === id);
    if (grant === undefined) throw noSuch("client");
    await store.identities.endGrants({ grantId: id });
    onEnded({ login: id });
    await audit.write(principal.user, "client_revoked", CLI_CLIENT_NAME, grant.accountId);
  }

  async tokens({ user }: Principal): Promise<TokenInfo[]> {
    const { identities, personalTokens } = this.#options.store;
    const [tokens, accounts] = await Promise.all([personalTokens.list(user.id), identities.findMemberships(user.id)]);
    return tokens.map((token) => describeToken(token, nameOf(accounts, token.accountId)));
  }

  async createToken(
    principal: Principal,
    form: { name: string; scopes: readonly Scope[]; days: number | null },
  ): Promise<{ token: string; info: TokenInfo }> {
    requireSession(principal);
    const { audit, now, store } = this.#options;
    const { user, account } = principal, { days } = form;
    if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= 3650)) {
      throw fieldRefused("days", "Enter a number of days from 1 to 3650.");
    }
    if (form.scopes.length === 0 || !form.scopes.every(isScope)) {
      throw fieldRefused("scopes", "Choose at least one scope.");
    }
    const name = readName(form.name), token = PERSONAL_TOKEN_PREFIX + createSecret(), createdAt = now();
    const record: PersonalToken = {
      id: crypto.randomUUID(),
      tokenHash: hashSecret(token),
      userId: user.id,
      accountId: account.id,
      name,
      scopes: [...new Set(form.scopes)],
      createdAt,
      expiresAt: days === null ? null : createdAt + days * DAY_MS,
      usedAt: null,
    };
    try {
      await store.personalTokens.insert(record, MAX_TOKENS);
    } catch (error) {
      throw error instanceof TooManyTokens ? tooManyTokens() : error;
    }
    await audit.write(user, "token_added", `${name} (${record.scopes.join(", ")})`, account.id);
    return { token, info: describeToken(record, account.name) };
  }

  async revokeToken(principal: Principal, id: string): Promise<void> {
    requireSession(principal);
    const { audit, onEnded, store } = this.#options;
    const { user } = principal;
    const token = (await store.personalTokens.list(user.id)).find((one) => one.id === id);
    if (token === undefined) throw noSuch("token");
    await store.personalTokens.remove({ userId: user.id, id });
    onEnded({ login: id });
    await audit.write(user, "token_revoked", token.name, token.accountId);
  }

  async audit({ account, via }: Principal): Promise<AuditEntry[]> {
    if (via !== "session" || account.role === "member") {
      throw notAllowed("Only owners and admins of an account may do this.");
    }
    return await this.#options.store.auditLog.list({ accountId: account.id, limit: AUDIT_PAGE });
  }
}

/**
 * Requires a browser's session. A token could otherwise create a more powerful token. @throws HttpError 403
 * `session_wanted`
 */
export function requireSession({ via }: Principal): void {
  if (via !== "session") throw sessionWanted();
}

function describeToken({ id, name, scopes, createdAt, expiresAt, usedAt }: PersonalToken, account: string): TokenInfo {
  return { id, name, account, scopes: scopes.filter(isScope), createdAt, expiresAt, usedAt };
}

function nameOf(accounts: readonly Membership[], id: string | null): string {
  return accounts.find(({ accountId }) => accountId === id)?.accountName ?? "";
}

const tooManyTokens = (): HttpError =>
  new HttpError(403, "too_many_tokens", `A user has at most ${MAX_TOKENS} tokens.`, { details: "Revoke some first." });
