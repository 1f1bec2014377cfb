import type { Accounts } from "../../accounts/mod.ts";
import type { HqApp } from "../types.ts";
import { addAdminAudit } from "./audit.tsx";
import { addUsers } from "./users.tsx";

/** The pages for who looks after the server. */
export function addAdmin(app: HqApp, accounts: Accounts): void {
  addUsers(app, accounts);
  addAdminAudit(app, accounts);
}
