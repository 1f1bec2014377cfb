import { GoAwayReason } from "../../../protocol/mod.ts";
import type { AccountUser, PersistentTunnel, PersistentTunnels, UsageRecords } from "../../store/mod.ts";
import { monthOf } from "../calendar.ts";
import { Allowance } from "./allowance.ts";
import type { Endpoint, RelayContext, SessionEnd } from "./endpoint.ts";
import { Persistent } from "./persistent.ts";
import { KeptLogs, type RecentRequest } from "./request_log.ts";

/** How long an unused tunnel stays in memory. */
const FORGET_MS = 60_000;

/** The stores for persistent tunnels and usage, and the monthly allowance. */
export interface PersistentRegistryOptions {
  store: PersistentTunnels;
  usage: Pick<UsageRecords, "ofUser">;
  context: RelayContext;
  /** Bytes that each user may carry a month in an account. */
  monthlyBytes: number;
}

/** Persistent tunnels in memory, in front of the store, and their users' allowances. */
export class PersistentRegistry {
  readonly #options: PersistentRegistryOptions;
  readonly #byId = new Map<string, Persistent>();
  readonly #idOfLabel = new Map<string, string>();
  readonly #hosts = new Map<string, Endpoint>();
  /** The endpoints with a session by the host's part before the domain, for the fast path. */
  readonly endpoints: ReadonlyMap<string, Endpoint> = this.#hosts;
  readonly #allowances = new Map<string, Allowance>();
  readonly #logs = new KeptLogs();

  constructor(options: PersistentRegistryOptions) {
    this.#options = options;
  }

  /** Returns the endpoint at `<label>` for a tunnel's default port, or at `<label>--<port>`. @throws StoreUnavailable */
  async findEndpoint(host: string): Promise<Endpoint | null> {
    const parts = /^(.*?)(?:--([1-9]\d{0,4}))?$/.exec(host);
    if (parts === null) return null;
    const tunnel = await this.#findByLabel(parts[1]);
    if (tunnel === null) return null;
    const port = parts[2] === undefined ? tunnel.record.defaultPort : Number(parts[2]);
    if (port > MAX_PORT) return null;
    const endpoint = tunnel.endpointOf(port);
    if (tunnel.keeps(port)) this.#hosts.set(host, endpoint);
    return endpoint;
  }

  /** Returns a tunnel that is in memory. */
  getById(id: string): Persistent | undefined {
    return this.#byId.get(id);
  }

  /** Returns a tunnel's latest requests, newest first, also for a while after its last use. */
  recentRequests(id: string): RecentRequest[] {
    return (this.#byId.get(id)?.requests ?? this.#logs.get(id))?.list() ?? [];
  }

  /** Returns a tunnel from memory or from the store, or null. @throws StoreUnavailable */
  async findById(id: string): Promise<Persistent | null> {
    const known = this.#byId.get(id);
    return known ?? await this.#load(await this.#options.store.findById(id));
  }

  /** Returns a user's allowance in an account, one object for all callers. @throws StoreUnavailable */
  async findAllowance(user: AccountUser): Promise<Allowance> {
    const { usage, context, monthlyBytes } = this.#options;
    const key = `${user.accountId} ${user.userId}`;
    const known = this.#allowances.get(key);
    if (known !== undefined) return known;
    const month = monthOf(context.now()), used = await usage.ofUser(user, month);
    const { accountId, userId } = user;
    const allowance = this.#allowances.get(key) ?? new Allowance({ accountId, userId }, monthlyBytes, month, used);
    allowance.onExhausted = () => this.#endAllOf(allowance);
    this.#allowances.set(key, allowance);
    return allowance;
  }

  /** Applies a changed record, which ends sessions where it closes an endpoint. @throws StoreUnavailable */
  async apply(record: PersistentTunnel): Promise<void> {
    const tunnel = this.#byId.get(record.id);
    if (tunnel === undefined) return;
    if (tunnel.record.userId !== record.userId) tunnel.allowance = await this.findAllowance(record);
    if (tunnel.record.defaultPort !== record.defaultPort) this.#forgetHosts(tunnel);
    tunnel.record = record;
    tunnel.endIfClosed();
  }

  /** Ends a tunnel that was deleted from the store, and removes it from memory. */
  drop(id: string): void {
    const tunnel = this.#byId.get(id);
    if (tunnel === undefined) return;
    tunnel.end(REMOVED);
    // Visitors that wait for it find it closed.
    tunnel.record = { ...tunnel.record, enabled: false };
    this.#forget(tunnel);
    this.#logs.take(id);
  }

  tunnels(): Iterable<Persistent> {
    return this.#byId.values();
  }

  allowances(): Iterable<Allowance> {
    return this.#allowances.values();
  }

  /** Removes tunnels and allowances from memory that are unused and stored. */
  sweep(): void {
    const now = this.#options.context.now();
    const used = new Set<Allowance>();
    for (const tunnel of [...this.#byId.values()]) {
      if (tunnel.live().length > 0) tunnel.seenAt = now;
      const idle = new Set(tunnel.forgetIdle());
      if (idle.size > 0) this.#forgetHosts(tunnel);
      if (now - tunnel.seenAt > FORGET_MS && tunnel.isSaved) this.#forget(tunnel);
      else used.add(tunnel.allowance);
    }
    for (const [key, allowance] of this.#allowances) {
      if (!used.has(allowance) && allowance.unsaved === 0) this.#allowances.delete(key);
    }
  }

  async #findByLabel(label: string): Promise<Persistent | null> {
    const id = this.#idOfLabel.get(label);
    const known = id === undefined ? undefined : this.#byId.get(id);
    return known ?? await this.#load(await this.#options.store.findByLabel(label));
  }

  /** Keeps one object for each record, also if several callers load it at once. */
  async #load(record: PersistentTunnel | null): Promise<Persistent | null> {
    if (record === null) return null;
    const allowance = await this.findAllowance(record);
    const { context } = this.#options;
    const tunnel = this.#byId.get(record.id) ??
      new Persistent(record, allowance, context, this.#logs.take(record.id));
    this.#byId.set(record.id, tunnel);
    this.#idOfLabel.set(record.label, record.id);
    tunnel.seenAt = context.now();
    return tunnel;
  }

  #endAllOf(allowance: Allowance): void {
    for (const tunnel of this.#byId.values()) if (tunnel.allowance === allowance) tunnel.endIfClosed();
  }

  #forget(tunnel: Persistent): void {
    const { id, label } = tunnel.record;
    this.#logs.keep(id, tunnel.requests, this.#options.context.now());
    this.#byId.delete(id);
    this.#idOfLabel.delete(label);
    this.#forgetHosts(tunnel);
  }

  #forgetHosts(tunnel: Persistent): void {
    for (const [host, endpoint] of this.#hosts) if (endpoint.tunnel === tunnel) this.#hosts.delete(host);
  }
}

const MAX_PORT = 65535;
const REMOVED: SessionEnd = { reason: GoAwayReason.removed, text: "this tunnel was deleted" };
