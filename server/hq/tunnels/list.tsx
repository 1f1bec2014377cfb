import { doneNotice, requireViewer, servePage } from "../page.tsx";
import type { HqApp, Viewer } from "../types.ts";
import {
  Badge,
  Commands,
  EmptyState,
  type Html,
  Icon,
  MeterBar,
  Notice,
  PageHead,
  Panel,
  Table,
  Time,
} from "../ui/mod.ts";
import { formatPorts } from "./ports.ts";
import type { AllowanceInfo, TunnelInfo, TunnelManagement } from "../../relay/mod.ts";

/** Adds the account's tunnel list. */
export function addTunnelList(app: HqApp, tunnels: TunnelManagement): void {
  app.get("/tunnels", async (context) => {
    const viewer = requireViewer(context);
    const [list, allowance] = await Promise.all([tunnels.list(viewer), tunnels.allowance(viewer)]);
    const isPaid = viewer.account.plan === "paid";
    return servePage(context, {
      title: "Tunnels",
      section: "tunnels",
      content: (
        <>
          <PageHead
            title="Tunnels"
            about="Each keeps its public URL, on any machine."
            actions={isPaid && (
              <a class="primary" href="/tunnels/new">
                <Icon name="plus" /> New tunnel
              </a>
            )}
          />
          {doneNotice(context, { deleted: "The tunnel is deleted. Its URL answers 404 from now on." })}
          {!isPaid && <PlanNotice viewer={viewer} />}
          <TunnelList list={list} isPaid={isPaid} server={context.var.site.url.origin} />
          {isPaid && <AllowancePanel allowance={allowance} />}
        </>
      ),
    });
  });
}

/** A notice about the free plan's limits. */
export function PlanNotice({ viewer: { account, user } }: { viewer: Viewer }): Html {
  const users = `/admin?search=${encodeURIComponent(user.email)}`;
  return (
    <Notice tone="accent">
      <b>{account.name}</b> is on the free plan. Persistent tunnels need a paid one, {user.isAdmin
        ? (
          <>
            and you are an admin of this server: <a href={users}>set the plan in Admin</a>.
          </>
        )
        : "which an admin of this server gives."} Ephemeral tunnels are open to everybody: <code>portway -e 3000</code>
    </Notice>
  );
}

function NoTunnels({ isPaid, server }: { isPaid: boolean; server: string }): Html {
  return (
    <Panel>
      <EmptyState
        icon="tunnel"
        title="No tunnels yet"
        action={isPaid && (
          <>
            <a class="primary" href="/tunnels/new">Create a tunnel</a>
            <Commands
              commands={[
                ["Then log your machine in, once", `portway --login --server ${server}`],
                ["and use a tunnel by its name", "portway -t <name>"],
              ]}
            />
          </>
        )}
      >
        A persistent tunnel keeps its name and URL, has several ports, and a monthly allowance.
      </EmptyState>
    </Panel>
  );
}

function TunnelList({ list, isPaid, server }: { list: readonly TunnelInfo[]; isPaid: boolean; server: string }): Html {
  if (list.length === 0) return <NoTunnels isPaid={isPaid} server={server} />;
  return (
    <section class="panel flush" id="list" data-live>
      <Table
        caption="Tunnels"
        rows={list}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Name",
            cell: ({ id, name, url }) => (
              <>
                <a class="strong" href={`/tunnels/${id}`}>{name}</a>
                <small>{url.replace(/^https?:\/\/|\/$/g, "")}</small>
              </>
            ),
          },
          { head: "State", cell: (tunnel) => <TunnelState tunnel={tunnel} /> },
          { head: "Default port", cell: ({ defaultPort }) => String(defaultPort) },
          { head: "Allowed ports", cell: (tunnel) => portsOf(tunnel) },
          { head: "Created", cell: ({ createdAt }) => <Time ms={Date.parse(createdAt)} />, minor: true },
        ]}
      />
    </section>
  );
}

/** Describes the allowed ports. */
export function portsOf({ allowedPorts }: Pick<TunnelInfo, "allowedPorts">): string {
  return allowedPorts === "all" ? "All" : formatPorts(allowedPorts);
}

/** The monthly allowance and its use. */
export function AllowancePanel({ allowance }: { allowance: AllowanceInfo }): Html {
  const { bytes, bytesLimit, resetsAt } = allowance;
  const share = bytes / bytesLimit;
  return (
    <Panel title="Allowance of this month" about="Traffic of your persistent tunnels in both directions.">
      {share >= 0.8 && (
        <Notice tone={share >= 1 ? "bad" : "warn"}>
          {share >= 1
            ? "It is used up: your persistent tunnels return 429 until the month ends."
            : "More than 80 % is used. At 100 % your persistent tunnels return 429."}
        </Notice>
      )}
      <MeterBar used={bytes} limit={bytesLimit} label="Part of the allowance that is used" />
      <p class="under">
        It begins anew on <Time ms={Date.parse(resetsAt)} />.
      </p>
    </Panel>
  );
}

/** A tunnel's state, in a word. */
export function TunnelState({ tunnel: { enabled, suspended, live } }: { tunnel: TunnelInfo }): Html {
  if (suspended) return <Badge tone="bad" dot>Suspended</Badge>;
  if (!enabled) return <Badge tone="warn" dot>Disabled</Badge>;
  if (live.length === 0) return <Badge dot>Offline</Badge>;
  return <Badge tone="good" dot>{live.length === 1 ? "Live" : `Live, ${live.length} ports`}</Badge>;
}
