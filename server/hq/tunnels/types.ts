import type { Principal } from "../../access/mod.ts";
import type { DayBar } from "../ui/mod.ts";

/** A persistent tunnel as its page shows it. */
export interface TunnelInfo {
  readonly id: string;
  readonly name: string;
  /** The host label of its default port. */
  readonly label: string;
  readonly url: string;
  readonly defaultPort: number;
  readonly allowedPorts: "all" | readonly number[];
  readonly enabled: boolean;
  readonly suspended: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Ports that a client carries now. */
  readonly live: readonly { readonly port: number; readonly since: string }[];
}

/** What can be said of a tunnel when it is made or changed. */
export interface TunnelForm {
  name: string;
  defaultPort: number;
  allowedPorts: "all" | number[];
  enabled: boolean;
}

/** A request that a tunnel carried a moment ago. */
export interface RecentRequest {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  readonly port: number;
}

/** What a user has carried this month, of what they may. */
export interface Allowance {
  readonly month: string;
  readonly bytes: number;
  readonly bytesLimit: number;
  readonly resetsAt: string;
}

/** Persistent tunnels as HQ asks for them, with the checks and errors of the API. */
export interface TunnelManagement {
  list(principal: Principal): Promise<readonly TunnelInfo[]>;
  get(principal: Principal, id: string): Promise<TunnelInfo>;
  create(principal: Principal, form: TunnelForm): Promise<TunnelInfo>;
  update(principal: Principal, id: string, form: Partial<TunnelForm>): Promise<TunnelInfo>;
  remove(principal: Principal, id: string): Promise<void>;
  requests(principal: Principal, id: string): Promise<readonly RecentRequest[]>;
  /** One entry a day, the oldest first, days without traffic too. */
  usage(principal: Principal, id: string, days: number): Promise<readonly DayBar[]>;
  allowance(principal: Principal): Promise<Allowance>;
}
