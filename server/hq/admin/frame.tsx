import type { Child } from "hono/jsx";
import { HttpError } from "../../../common/http_error.ts";
import { doneNotice, requireViewer, servePage } from "../page.tsx";
import type { Accounts } from "../../accounts/mod.ts";
import type { HqApp, HqContext, Viewer } from "../types.ts";
import { AuditTable, type Html, Notice, PageHead, Panel, Tabs } from "../ui/mod.ts";

/** A page in the admin section. */
export interface AdminPage {
  /** The page's path, which selects its tab. */
  path: string;
  title: string;
  content: Child;
  problem?: string;
  status?: number;
}

/** Rows on one page of a list. */
const PAGE_SIZE = 50;

/** Messages after the section's forms. */
const DONE = {
  plan: "The plan is changed.",
  suspended: "The user is suspended, and all they had open has ended.",
  restored: "The user may come in again.",
  admin: "What the user may do is changed.",
  "tunnel-suspended": "The tunnel is suspended, and its sessions have ended.",
  "tunnel-restored": "The tunnel may be used again.",
};

const TABS: readonly (readonly [string, string])[] = [
  ["/admin", "Users"],
  ["/admin/tunnels", "Tunnels"],
  ["/admin/usage", "Usage"],
  ["/admin/audit", "Audit log"],
];

/** Returns the viewer, who must be an admin. @throws HttpError 401 without a sign-in, 403 for any other user */
export function requireAdmin(context: HqContext): Viewer {
  const viewer = requireViewer(context);
  if (viewer.user.isAdmin) return viewer;
  throw new HttpError(403, "not_allowed", "This page is for the admins of this server.");
}

/** Renders an admin page. */
export function serveAdminPage(context: HqContext, page: AdminPage): Response {
  return servePage(context, {
    title: page.title,
    section: "admin",
    status: page.status,
    content: (
      <>
        <PageHead title="Admin" about="All users and tunnels of this server." />
        <Tabs label="Admin" current={page.path} tabs={TABS} />
        {doneNotice(context, DONE)}
        {page.problem !== undefined && <Notice tone="bad">{page.problem}</Notice>}
        {page.content}
      </>
    ),
  });
}

/** Reads the search text and the page number from an address. */
export function readListQuery(context: HqContext): { search: string; page: number } {
  const page = Number(context.req.query("page") ?? "1");
  return {
    search: (context.req.query("search") ?? "").trim().slice(0, 100),
    page: Number.isInteger(page) && page >= 1 && page <= 100_000 ? page : 1,
  };
}

/** Returns the next and the previous page's address. */
export function pagesOf(
  path: string,
  { search, page }: { search: string; page: number },
  total: number,
): { newer: string | null; older: string | null } {
  const to = (number: number) => {
    const query = new URLSearchParams({ ...(search !== "" && { search }), page: String(number) });
    return `${path}?${query}`;
  };
  return { newer: page > 1 ? to(page - 1) : null, older: page * PAGE_SIZE < total ? to(page + 1) : null };
}

/** A search form above a list. */
export function SearchForm({ action, label, value }: { action: string; label: string; value: string }): Html {
  return (
    <form method="get" action={action} class="search" role="search">
      <input type="search" name="search" value={value} aria-label={label} placeholder={label} maxlength={100} />
      <button type="submit" class="button small">Search</button>
    </form>
  );
}

/** Adds the server's audit log page. */
export function addAdminAudit(app: HqApp, { admin }: Accounts): void {
  app.get("/admin/audit", async (context) => {
    const entries = await admin.audit(requireAdmin(context));
    return serveAdminPage(context, {
      path: "/admin/audit",
      title: "Audit log",
      content: (
        <Panel
          title="Audit log"
          about="Permission changes and calls that were sent again, in all accounts, newest first."
          flush
        >
          <AuditTable entries={entries} />
        </Panel>
      ),
    });
  });
}
