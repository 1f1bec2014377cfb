import type { Accounts } from "../../accounts/mod.ts";
import { requireViewer } from "../page.tsx";
import type { HqApp } from "../types.ts";
import { AuditTable, Panel } from "../ui/mod.ts";
import { serveAccountPage } from "./frame.tsx";

/** What changed in the account. */
export function addAccountAudit(app: HqApp, { clients }: Accounts): void {
  app.get("/account/audit", async (context) => {
    const entries = await clients.audit(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/audit",
      title: "Audit log",
      content: (
        <Panel
          title="Audit log"
          about="What changed who may do what in this account, and where its calls were sent again, the newest first."
          flush
        >
          <AuditTable entries={entries} />
        </Panel>
      ),
    });
  });
}
