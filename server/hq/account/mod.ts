import type { Accounts } from "../../accounts/mod.ts";
import type { TunnelManagement } from "../../relay/mod.ts";
import type { HqApp } from "../types.ts";
import { addAccountAudit, addUsage } from "./frame.tsx";
import { addClients } from "./clients.tsx";
import { addMembers } from "./members.tsx";
import { addSecurity } from "./security.tsx";

/** Adds the account and user pages. */
export function addAccount(app: HqApp, accounts: Accounts, tunnels: TunnelManagement): void {
  addMembers(app, accounts);
  addUsage(app, tunnels);
  addClients(app, accounts);
  addSecurity(app, accounts);
  addAccountAudit(app, accounts);
}
