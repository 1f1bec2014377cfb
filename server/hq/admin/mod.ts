import type { Accounts } from "../../accounts/mod.ts";
import type { HqApp } from "../types.ts";
import { addAdminAudit } from "./audit.tsx";
import { addAdminTunnels } from "./tunnels.tsx";
import type { TunnelAdministration } from "./types.ts";
import { addUsers } from "./users.tsx";

export type { AnyTunnel, TunnelAdministration } from "./types.ts";

/** The pages for who looks after the server. */
export function addAdmin(app: HqApp, accounts: Accounts, tunnels: TunnelAdministration): void {
  addUsers(app, accounts);
  addAdminTunnels(app, tunnels);
  addAdminAudit(app, accounts);
}
