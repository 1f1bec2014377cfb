import type { Accounts } from "../../accounts/mod.ts";
import type { TunnelManagement } from "../../relay/mod.ts";
import type { HqApp } from "../types.ts";
import { addAdminAudit } from "./frame.tsx";
import { addAdminTunnels } from "./tunnels.tsx";
import { addUsers } from "./users.tsx";

/** Adds the server admin pages. */
export function addAdmin(app: HqApp, accounts: Accounts, tunnels: TunnelManagement): void {
  addUsers(app, accounts);
  addAdminTunnels(app, accounts, tunnels);
  addAdminAudit(app, accounts);
}
