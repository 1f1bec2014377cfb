import { describeError, type Logger } from "../../../common/log.ts";
import { StoreUnavailable, type UsageRecords } from "../../store/mod.ts";
import { dayOf, monthOf } from "../calendar.ts";
import type { Allowance } from "./allowance.ts";
import type { Persistent } from "./persistent.ts";
import type { PersistentRegistry } from "./persistent_registry.ts";

/** How long the store keeps daily usage. */
const KEEP_DAYS_MS = 400 * 24 * 60 * 60 * 1000;
const PURGE_EVERY_MS = 60 * 60 * 1000;

/** The store for usage, and the listener for low allowances. */
export interface UsageSaverOptions {
  usage: UsageRecords;
  registry: PersistentRegistry;
  /** Unix milliseconds. */
  now(): number;
  /** Called when most of an allowance is used, once a month. */
  onLow(allowance: Allowance): void;
  log: Logger;
}

/** Stores persistent tunnels' traffic, and learns totals that include other servers. */
export class UsageSaver {
  readonly #options: UsageSaverOptions;
  #purgedAt: number;

  constructor(options: UsageSaverOptions) {
    this.#options = options;
    this.#purgedAt = options.now();
  }

  /** Stores the new counts in one transaction. Call it about once a second. */
  async save(): Promise<void> {
    const { usage, registry, now } = this.#options;
    const day = dayOf(now()), taken = takeUnsaved(registry);
    try {
      if (taken.tunnels.length + taken.users.length > 0) {
        const totals = await usage.add({
          day,
          tunnels: taken.tunnels.map(({ tunnel, ...some }) => ({ id: tunnel.record.id, ...some })),
          users: taken.users.map(({ allowance, bytes }) => ({ ...allowance.user, bytes })),
        });
        // The totals are for the stored month; a new month begins below.
        taken.users.forEach(({ allowance }, at) => allowance.learn(totals[at]));
      }
    } catch (error) {
      giveBack(taken);
      this.#report("usage_not_saved", error);
    }
    const month = monthOf(now());
    for (const allowance of registry.allowances()) this.#watch(allowance, month);
    await this.#purge();
  }

  #watch(allowance: Allowance, month: string): void {
    allowance.turn(month);
    if (allowance.isWarned || !allowance.isLow) return;
    allowance.isWarned = true;
    const { user: { accountId, userId }, used, limit } = allowance;
    this.#options.log.warn("allowance_low", { account: accountId, user: userId, used, limit });
    this.#options.onLow(allowance);
  }

  async #purge(): Promise<void> {
    const now = this.#options.now();
    if (now - this.#purgedAt < PURGE_EVERY_MS) return;
    this.#purgedAt = now;
    try {
      await this.#options.usage.removeBefore(dayOf(now - KEEP_DAYS_MS));
    } catch (error) {
      this.#report("old_usage_not_removed", error);
    }
  }

  /** Logs an error. The relay logs a store that is unavailable. */
  #report(event: string, error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#options.log.error(event, { reason: describeError(error) });
  }
}

interface Taken {
  tunnels: { tunnel: Persistent; bytes: number; requests: number }[];
  users: { allowance: Allowance; bytes: number }[];
}

function takeUnsaved(registry: PersistentRegistry): Taken {
  const taken: Taken = { tunnels: [], users: [] };
  for (const tunnel of registry.tunnels()) {
    const bytes = tunnel.traffic.takeUnsaved(), requests = tunnel.requests.takeUncounted();
    if (bytes + requests > 0) taken.tunnels.push({ tunnel, bytes, requests });
  }
  for (const allowance of registry.allowances()) {
    const bytes = allowance.takeUnsaved();
    if (bytes > 0) taken.users.push({ allowance, bytes });
  }
  return taken;
}

function giveBack({ tunnels, users }: Taken): void {
  for (const { tunnel, bytes, requests } of tunnels) {
    tunnel.traffic.returnUnsaved(bytes);
    tunnel.requests.returnUncounted(requests);
  }
  for (const { allowance, bytes } of users) allowance.returnUnsaved(bytes);
}
