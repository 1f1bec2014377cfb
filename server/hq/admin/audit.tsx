import type { Accounts } from "../../accounts/mod.ts";
import type { HqApp } from "../types.ts";
import { AuditTable, Panel } from "../ui/mod.ts";
import { requireAdmin, serveAdminPage } from "./frame.tsx";

/** What changed on the whole server. */
export function addAdminAudit(app: HqApp, { admin }: Accounts): void {
  app.get("/admin/audit", async (context) => {
    const entries = await admin.audit(requireAdmin(context));
    return serveAdminPage(context, {
      path: "/admin/audit",
      title: "Audit log",
      content: (
        <Panel
          title="Audit log"
          about="What changed who may do what, and where calls were sent again, in all accounts, the newest first."
          flush
        >
          <AuditTable entries={entries} />
        </Panel>
      ),
    });
  });
}
