import { HttpError } from "../../../common/http_error.ts";
import type { Plan, Principal } from "../../access/mod.ts";
import type { AuditEntry, KnownUser, Store } from "../../store/mod.ts";
import { noSuch, notAllowed } from "../better_auth/call.ts";
import { AUDIT_PAGE, requireSession } from "./clients.ts";
import { fieldRefused } from "../../http/mod.ts";
import { toAccount } from "../identify.ts";
import type { Shared } from "./shared.ts";
import type { Admin, UserInfo } from "../types.ts";

/** The dependencies of the admin forms. */
export interface AdminOptions extends Pick<Shared, "audit" | "onChange" | "onEnded"> {
  store: Pick<Store, "identities" | "auditLog">;
  createResetLink(userId: string): Promise<string>;
}

const PAGE_USERS = 50;

/** The forms for the server's admins. */
export class AdminForms implements Admin {
  readonly #options: AdminOptions;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  async users(
    principal: Principal,
    { search = "", page = 1 }: { search?: string; page?: number },
  ): Promise<{ users: UserInfo[]; total: number }> {
    requireAdmin(principal);
    if (!(Number.isInteger(page) && page >= 1 && page <= 1_000_000)) {
      throw fieldRefused("page", "This page does not exist.");
    }
    const { identities } = this.#options.store;
    const query = { search: search.slice(0, 100), offset: (page - 1) * PAGE_USERS, limit: PAGE_USERS };
    const { users, total } = await identities.listUsers(query);
    const described = users.map(async (user) => ({
      ...user,
      accounts: (await identities.findMemberships(user.id)).map(toAccount),
    }));
    return { users: await Promise.all(described), total };
  }

  async setPlan(principal: Principal, accountId: string, plan: Plan): Promise<void> {
    requireAdmin(principal);
    if (plan !== "free" && plan !== "paid") throw fieldRefused("plan", "This plan does not exist.");
    const { audit, onChange, store } = this.#options;
    if (!await store.identities.setPlan(accountId, plan)) throw noSuch("account");
    onChange();
    await audit.write(principal.user, "plan_changed", plan, accountId);
  }

  async setSuspended(principal: Principal, userId: string, isSuspended: boolean): Promise<void> {
    const { audit, onChange, onEnded, store } = this.#options;
    const user = await this.#findOther(principal, userId);
    await this.#change(principal, userId, { isSuspended });
    if (isSuspended) {
      await store.identities.endSessions(userId);
      await store.identities.endGrants({ userId });
      onEnded({ userId, accountId: null });
    }
    onChange();
    await audit.write(principal.user, isSuspended ? "user_suspended" : "user_restored", user.email);
  }

  async accountNames(principal: Principal, ids: readonly string[]): Promise<Map<string, string>> {
    requireAdmin(principal);
    return await this.#options.store.identities.findAccountNames(ids);
  }

  async noteTunnelSuspended(principal: Principal, tunnel: string, isSuspended: boolean): Promise<void> {
    requireAdmin(principal);
    await this.#options.audit.write(principal.user, isSuspended ? "tunnel_suspended" : "tunnel_restored", tunnel);
  }

  async setAdmin(principal: Principal, userId: string, isAdmin: boolean): Promise<void> {
    const user = await this.#findOther(principal, userId);
    await this.#change(principal, userId, { isAdmin });
    this.#options.onChange();
    await this.#options.audit.write(principal.user, isAdmin ? "admin_added" : "admin_removed", user.email);
  }

  async createResetLink(principal: Principal, userId: string): Promise<string> {
    requireAdmin(principal);
    const user = await this.#options.store.identities.findUser(userId);
    if (user === null) throw noSuch("user");
    const link = await this.#options.createResetLink(userId);
    await this.#options.audit.write(principal.user, "reset_link_made", user.email);
    return link;
  }

  async audit(principal: Principal): Promise<AuditEntry[]> {
    requireAdmin(principal);
    return await this.#options.store.auditLog.list({ limit: AUDIT_PAGE });
  }

  async #change(
    principal: Principal,
    userId: string,
    change: { isAdmin?: boolean; isSuspended?: boolean },
  ): Promise<void> {
    const result = await this.#options.store.identities.changeUser(principal.user.id, userId, change);
    if (result === "not_found") throw noSuch("user");
    if (result === "not_allowed") throw adminWanted();
    if (result === "last_admin") throw lastAdmin();
  }

  /** Finds another user. Admins cannot lock themselves out. */
  async #findOther(principal: Principal, userId: string): Promise<Omit<KnownUser, "createdAt">> {
    requireAdmin(principal);
    const user = await this.#options.store.identities.findUser(userId);
    if (user === null) throw noSuch("user");
    if (userId === principal.user.id) throw ownUser();
    return user;
  }
}

function requireAdmin(principal: Principal): void {
  requireSession(principal);
  if (!principal.user.isAdmin) throw adminWanted();
}

const ownUser = (): HttpError =>
  new HttpError(409, "own_user", "You cannot do this to yourself.", { details: "Another admin can." });

const adminWanted = (): HttpError => notAllowed("Only admins of this server may do this.");

const lastAdmin = (): HttpError =>
  new HttpError(409, "last_admin", "This server keeps at least one admin.", {
    details: "Make another user admin first.",
  });
