import type { DayBar } from "../ui/mod.ts";
import type { TunnelInfo } from "../tunnels/mod.ts";

/** A tunnel of any account, as an admin sees it. */
export interface AnyTunnel extends TunnelInfo {
  readonly accountName: string;
}

/** All tunnels of the server, for its admins: who calls these has checked that somebody is one. */
export interface TunnelAdministration {
  /** Tunnels by a part of their name, label or account, 50 a page, the newest first. @param query `page` counts from 1 */
  listAll(query: { search?: string; page?: number }): Promise<{ tunnels: readonly AnyTunnel[]; total: number }>;
  /** Ends its sessions at once, or lets it again. @throws HttpError 404 */
  setSuspended(id: string, isSuspended: boolean): Promise<void>;
  /** What all persistent tunnels carried, one entry a day, the oldest first. */
  usageOfAll(days: number): Promise<readonly DayBar[]>;
}
