import type { Child } from "hono/jsx";
import { doneNotice, requireViewer, servePage } from "../page.tsx";
import type { Accounts } from "../../accounts/mod.ts";
import type { TunnelManagement } from "../../relay/mod.ts";
import { AllowancePanel } from "../tunnels/mod.ts";
import type { HqApp, HqContext } from "../types.ts";
import { AuditTable, Badge, Notice, PageHead, Panel, Tabs } from "../ui/mod.ts";

/** A page in the account section. */
export interface AccountPage {
  /** The page's path, which selects its tab. */
  path: string;
  title: string;
  content: Child;
  /** The last form's problem. */
  problem?: string;
  status?: number;
}

/** Messages after the section's forms. */
const DONE = {
  joined: "You have joined this account.",
  renamed: "The account has its new name.",
  created: "The account is made, and you are in it now.",
  switched: "You work in this account now.",
  invited: "The invitation is on its way.",
  "invitation-made": "The invitation is made. Hand its link on: this server sends no mail.",
  cancelled: "The invitation is taken back.",
  role: "The role is changed.",
  removed: "The member is removed.",
  revoked: "Access is revoked.",
  password: "Your password is changed, and all other sessions have ended.",
  "session-ended": "The session has ended.",
};

/** Renders an account page. */
export function serveAccountPage(context: HqContext, page: AccountPage): Response {
  const { account } = requireViewer(context);
  const isManager = account.role !== "member";
  const tabs: (readonly [string, string])[] = [
    ["/account", "Members"],
    ["/account/usage", "Usage"],
    ["/account/clients", "Clients"],
    ["/account/tokens", "Tokens"],
    ["/account/security", "Security"],
  ];
  if (isManager) tabs.push(["/account/audit", "Audit log"]);
  return servePage(context, {
    title: page.title,
    section: "account",
    status: page.status,
    content: (
      <>
        <PageHead
          title={
            <>
              {account.name} <Badge tone={account.plan === "paid" ? "accent" : "plain"}>{account.plan} plan</Badge>
            </>
          }
        />
        <Tabs label="Account" current={page.path} tabs={tabs} />
        {doneNotice(context, DONE)}
        {page.problem !== undefined && <Notice tone="bad">{page.problem}</Notice>}
        {page.content}
      </>
    ),
  });
}

/** Adds the user's allowance page. */
export function addUsage(app: HqApp, tunnels: TunnelManagement): void {
  app.get("/account/usage", async (context) => {
    const allowance = await tunnels.allowance(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/usage",
      title: "Usage",
      content: <AllowancePanel allowance={allowance} />,
    });
  });
}

/** Adds the account's audit log page. */
export function addAccountAudit(app: HqApp, { clients }: Accounts): void {
  app.get("/account/audit", async (context) => {
    const entries = await clients.audit(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/audit",
      title: "Audit log",
      content: (
        <Panel
          title="Audit log"
          about="Permission changes and calls that were sent again in this account, newest first."
          flush
        >
          <AuditTable entries={entries} />
        </Panel>
      ),
    });
  });
}
