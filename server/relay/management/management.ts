import { HttpError } from "../../../common/http_error.ts";
import { type Principal, requireScope } from "../../access/mod.ts";
import {
  type AccountUser,
  type AllowedPorts,
  LabelTaken,
  NameTaken,
  type PersistentTunnel,
  type Store,
  TooManyTunnels,
  type UsageDay,
} from "../../store/mod.ts";
import { dayOf, monthOf, startOfNextMonth } from "../calendar.ts";
import { noSuchTunnel, planRequired } from "../errors.ts";
import type { PersistentRegistry } from "../tunnel/persistent_registry.ts";
import type { RecentRequest } from "../tunnel/request_log.ts";
import { createNamedLabel } from "../tunnel/secrets.ts";
import { checkTunnelName, parseNewTunnel, parseTunnelChange } from "./input.ts";

/** A persistent tunnel as account members see it. Times are in ISO 8601. */
export interface TunnelInfo {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  /** The public address for the default port. */
  readonly url: string;
  readonly defaultPort: number;
  readonly allowedPorts: AllowedPorts;
  readonly enabled: boolean;
  readonly suspended: boolean;
  readonly createdAt: string;
  /** Ports that clients expose through this server. */
  readonly live: readonly { readonly port: number; readonly since: string }[];
}

/** A visitor's request as account members see it. */
export interface RequestInfo extends Omit<RecentRequest, "at"> {
  readonly at: string;
}

/** A user's monthly allowance in an account. */
export interface AllowanceInfo {
  /** In UTC, for instance 2026-11. */
  readonly month: string;
  readonly bytes: number;
  readonly bytesLimit: number;
  readonly resetsAt: string;
  /** Whether the user should get a warning. */
  readonly warning: boolean;
}

/** A tunnel as the operator sees it. */
export interface OwnedTunnelInfo extends TunnelInfo {
  readonly accountId: string;
  /** The user whose allowance it counts on. */
  readonly userId: string;
}

/** The caller; null without a login. */
type Asking = Principal | null;

/** Relay parts and limits for {@link TunnelManagement}. */
export interface TunnelManagementOptions {
  store: Pick<Store, "persistentTunnels" | "usage">;
  registry: PersistentRegistry;
  /** Returns a label's public URL. */
  urlOf(label: string): string;
  /** Tunnels that an account may have. */
  maxPerAccount: number;
  /** Unix milliseconds. */
  now(): number;
}

/** Rows in a page from {@link TunnelManagement.listAll}. */
const PAGE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Operations that account members have on persistent tunnels, with the same checks for the API and for pages. Each method
 * that is not for the operator throws HttpError 401 without a login, 403 `scope_missing`, and 404 `tunnel_not_found` for
 * unknown tunnels and other accounts' tunnels.
 */
export class TunnelManagement {
  readonly #options: TunnelManagementOptions;

  constructor(options: TunnelManagementOptions) {
    this.#options = options;
  }

  /** Checks the name for a new tunnel. @throws HttpError 400 with the field */
  checkName(name: string): void {
    checkTunnelName(name);
  }

  /** Returns the account's tunnels by name. */
  async list(asking: Asking): Promise<TunnelInfo[]> {
    const { account } = requireScope(asking, "tunnels:use");
    return (await this.#options.store.persistentTunnels.list(account.id)).map((record) => this.#describe(record));
  }

  /** Returns one of the account's tunnels. */
  async get(asking: Asking, id: string): Promise<TunnelInfo> {
    return this.#describe(await this.#find(requireScope(asking, "tunnels:use"), id));
  }

  /**
   * Creates a tunnel from `{name, defaultPort, allowedPorts, enabled}`.
   * @throws HttpError 400 with the field, 403 `plan_required` or `too_many_tunnels`, 409 `name_taken`
   */
  async create(asking: Asking, input: unknown): Promise<TunnelInfo> {
    const { account, user } = requireScope(asking, "tunnels:write");
    if (account.plan !== "paid") throw planRequired();
    const settings = parseNewTunnel(input);
    const { now, store, maxPerAccount } = this.#options;
    for (;;) {
      const record: PersistentTunnel = {
        id: crypto.randomUUID(),
        accountId: account.id,
        userId: user.id,
        label: createNamedLabel(settings.name),
        suspended: false,
        createdAt: now(),
        ...settings,
      };
      try {
        await store.persistentTunnels.insert(record, maxPerAccount);
        return this.#describe(record);
      } catch (error) {
        if (error instanceof NameTaken) throw nameTaken(settings.name);
        if (error instanceof TooManyTunnels) throw tooManyTunnels(maxPerAccount);
        if (!(error instanceof LabelTaken)) throw error;
      }
    }
  }

  /**
   * Changes some of `{defaultPort, allowedPorts, enabled}`. Sessions end where this closes an endpoint.
   * @throws HttpError 400 with the field
   */
  async update(asking: Asking, id: string, input: unknown): Promise<TunnelInfo> {
    const present = await this.#find(requireScope(asking, "tunnels:write"), id);
    return await this.#change(id, parseTunnelChange(input, present));
  }

  /** Deletes a tunnel and its daily usage, and ends its sessions. */
  async remove(asking: Asking, id: string): Promise<void> {
    await this.#find(requireScope(asking, "tunnels:write"), id);
    const { store, registry } = this.#options;
    if (!await store.persistentTunnels.remove(id)) throw noSuchTunnel();
    registry.drop(id);
  }

  /** Returns the latest requests that this server carried, newest first. */
  async requests(asking: Asking, id: string): Promise<RequestInfo[]> {
    await this.#find(requireScope(asking, "tunnels:use"), id);
    return this.#options.registry.recentRequests(id).map((request) => ({
      ...request,
      at: new Date(request.at).toISOString(),
    }));
  }

  /** Returns the daily usage, oldest first, with zeros for days without visitors. @param days from 1 to 366 */
  async usage(asking: Asking, id: string, days: number): Promise<UsageDay[]> {
    await this.#find(requireScope(asking, "tunnels:use"), id);
    const wanted = lastDays(this.#options.now(), days);
    return fillDays(wanted, await this.#options.store.usage.ofTunnel(id, wanted[0]));
  }

  /** Returns the caller's allowance in this account. */
  async allowance(asking: Asking): Promise<AllowanceInfo> {
    const { account, user } = requireScope(asking, "tunnels:use");
    const who: AccountUser = { accountId: account.id, userId: user.id };
    const { used, limit, isLow } = await this.#options.registry.findAllowance(who);
    const now = this.#options.now();
    return {
      month: monthOf(now),
      bytes: used,
      bytesLimit: limit,
      resetsAt: new Date(startOfNextMonth(now)).toISOString(),
      warning: isLow,
    };
  }

  /** Returns a page from all tunnels, newest first. The caller checks that it acts for the operator. @param page from 1 on */
  async listAll({ search = "", page = 1 }: { search?: string; page?: number } = {}): Promise<
    { tunnels: OwnedTunnelInfo[]; total: number }
  > {
    const { tunnels, total } = await this.#options.store.persistentTunnels.listAll(search, (page - 1) * PAGE, PAGE);
    const describe = (record: PersistentTunnel) => {
      const { accountId, userId } = record;
      return { ...this.#describe(record), accountId, userId };
    };
    return { tunnels: tunnels.map(describe), total };
  }

  /** Suspends a tunnel for the operator, which ends its sessions, or permits it again. @throws HttpError 404 */
  async setSuspended(id: string, suspended: boolean): Promise<TunnelInfo> {
    return await this.#change(id, { suspended });
  }

  /** Returns the daily usage that all tunnels have together, for the operator, oldest first. @param days from 1 to 366 */
  async usageOfAll(days: number): Promise<UsageDay[]> {
    const wanted = lastDays(this.#options.now(), days);
    return fillDays(wanted, await this.#options.store.usage.ofAll(wanted[0]));
  }

  async #find({ account }: Principal, id: string): Promise<PersistentTunnel> {
    const record = await this.#options.store.persistentTunnels.findById(id);
    if (record === null || record.accountId !== account.id) throw noSuchTunnel();
    return record;
  }

  async #change(id: string, change: Partial<PersistentTunnel>): Promise<TunnelInfo> {
    const { store, registry } = this.#options;
    const record = await store.persistentTunnels.update(id, change);
    if (record === null) throw noSuchTunnel();
    await registry.apply(record);
    return this.#describe(record);
  }

  #describe(record: PersistentTunnel): TunnelInfo {
    const { id, name, label, defaultPort, allowedPorts, enabled, suspended, createdAt } = record;
    const live = this.#options.registry.getById(id)?.live() ?? [];
    return {
      id,
      name,
      label,
      url: this.#options.urlOf(label),
      defaultPort,
      allowedPorts,
      enabled,
      suspended,
      createdAt: new Date(createdAt).toISOString(),
      live: live.map(({ port, since }) => ({ port, since: new Date(since).toISOString() })),
    };
  }
}

/** Returns the last days in UTC, oldest first. */
function lastDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => dayOf(now - (count - 1 - at) * DAY_MS));
}

function fillDays(wanted: readonly string[], known: readonly UsageDay[]): UsageDay[] {
  const byDay = new Map(known.map((day) => [day.day, day]));
  return wanted.map((day) => byDay.get(day) ?? { day, bytes: 0, requests: 0 });
}

function nameTaken(name: string): HttpError {
  const message = `This account already has a tunnel "${name}".`;
  return new HttpError(409, "name_taken", message, { body: { error: { code: "name_taken", message, field: "name" } } });
}

const tooManyTunnels = (max: number): HttpError =>
  new HttpError(403, "too_many_tunnels", `An account may have ${max} tunnels.`, { details: "Delete one first." });
