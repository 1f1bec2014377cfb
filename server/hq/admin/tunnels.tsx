import type { Accounts } from "../../accounts/mod.ts";
import type { OwnedTunnelInfo, TunnelManagement } from "../../relay/mod.ts";
import { goTo, readForm } from "../page.tsx";
import { TunnelState } from "../tunnels/mod.ts";
import type { HqApp, HqContext } from "../types.ts";
import {
  ActionButton,
  AskButton,
  AskDialog,
  DayChart,
  EmptyState,
  type Html,
  Pagination,
  Panel,
  Table,
  Time,
} from "../ui/mod.ts";
import { formatBytes } from "../../../common/format.ts";
import { pagesOf, readListQuery, requireAdmin, SearchForm, serveAdminPage } from "./frame.tsx";

const DAYS = 30;

/** A tunnel with its account's name. */
type AnyTunnel = OwnedTunnelInfo & { account: string };

/** Adds the page about all accounts' persistent tunnels and their traffic. */
export function addAdminTunnels(app: HqApp, { admin }: Accounts, tunnels: TunnelManagement): void {
  app.get("/admin/tunnels", (context) => serveTunnels(admin, tunnels, context));
  app.post("/admin/tunnels/:id/suspended", async (context) => {
    const viewer = requireAdmin(context);
    const isSuspended = (await readForm(context)).get("suspended") === "yes";
    const { label } = await tunnels.setSuspended(context.req.param("id"), isSuspended);
    await admin.noteTunnelSuspended(viewer, label, isSuspended);
    return goTo(`/admin/tunnels?done=${isSuspended ? "tunnel-suspended" : "tunnel-restored"}`);
  });
  app.get("/admin/usage", (context) => serveUsage(tunnels, context));
}

async function serveTunnels(
  admin: Accounts["admin"],
  tunnels: TunnelManagement,
  context: HqContext,
): Promise<Response> {
  const viewer = requireAdmin(context);
  const query = readListQuery(context);
  const { tunnels: found, total } = await tunnels.listAll(query);
  const names = await admin.accountNames(viewer, found.map(({ accountId }) => accountId));
  const list = found.map((tunnel) => ({ ...tunnel, account: names.get(tunnel.accountId) ?? "none" }));
  const title = `${total} persistent ${total === 1 ? "tunnel" : "tunnels"}`;
  return serveAdminPage(context, {
    path: "/admin/tunnels",
    title: "Tunnels",
    content: (
      <>
        <Panel
          title={title}
          actions={<SearchForm action="/admin/tunnels" label="Search tunnels" value={query.search} />}
          flush
        >
          {list.length === 0
            ? <EmptyState icon="tunnel" title="No tunnels">No tunnel exists, or none matches the search.</EmptyState>
            : <TunnelTable list={list} />}
        </Panel>
        <Pagination {...pagesOf("/admin/tunnels", query, total)} />
        {list.map((tunnel) => <SuspendDialog key={tunnel.id} tunnel={tunnel} asked={context.req.query("ask")} />)}
      </>
    ),
  });
}

async function serveUsage(tunnels: TunnelManagement, context: HqContext): Promise<Response> {
  requireAdmin(context);
  const days = await tunnels.usageOfAll(DAYS);
  const sum = (key: "bytes" | "requests") => days.reduce((total, day) => total + day[key], 0);
  return serveAdminPage(context, {
    path: "/admin/usage",
    title: "Usage",
    content: (
      <Panel
        title="All persistent tunnels"
        about={`${formatBytes(sum("bytes"))} and ${sum("requests").toLocaleString("en")} requests in ${DAYS} days`}
      >
        <DayChart days={days} />
      </Panel>
    ),
  });
}

function TunnelTable({ list }: { list: readonly AnyTunnel[] }): Html {
  return (
    <Table
      caption="Tunnels"
      rows={list}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Tunnel",
          cell: ({ name, url }) => (
            <>
              <b>{name}</b>
              <small>{url.replace(/^https?:\/\/|\/$/g, "")}</small>
            </>
          ),
        },
        { head: "Account", cell: ({ account }) => account },
        { head: "State", cell: (tunnel) => <TunnelState tunnel={tunnel} /> },
        { head: "Created", cell: ({ createdAt }) => <Time ms={Date.parse(createdAt)} />, minor: true },
      ]}
      actions={({ id, name, suspended }) =>
        suspended
          ? (
            <ActionButton
              action={`/admin/tunnels/${id}/suspended`}
              values={{ suspended: "no" }}
              class="button small"
              label={`Allow again: ${name}`}
            >
              Allow again
            </ActionButton>
          )
          : (
            <AskButton
              page="/admin/tunnels"
              dialog={`suspend-${id}`}
              class="button small risky"
              label={`Suspend ${name}`}
            >
              Suspend
            </AskButton>
          )}
    />
  );
}

function SuspendDialog({ tunnel: { id, name, account }, asked }: { tunnel: AnyTunnel; asked?: string }): Html {
  return (
    <AskDialog
      id={`suspend-${id}`}
      title={`Suspend ${name}?`}
      action={`/admin/tunnels/${id}/suspended`}
      values={{ suspended: "yes" }}
      confirm="Suspend"
      page="/admin/tunnels"
      asked={asked}
    >
      <p>It answers 403 at once, also to visitors it has now. The members of {account} see that it is suspended.</p>
    </AskDialog>
  );
}
