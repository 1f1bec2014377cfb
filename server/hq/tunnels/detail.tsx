import { formatBytes, formatDuration } from "../../../common/format.ts";
import { doneNotice, goTo, readForm, requireViewer, servePage } from "../page.tsx";
import type { HqApp } from "../types.ts";
import {
  ActionButton,
  AskButton,
  AskDialog,
  Badge,
  Commands,
  CopyButton,
  type DayBar,
  DayChart,
  EmptyState,
  Facts,
  type Html,
  Notice,
  PageHead,
  Panel,
  Table,
  Time,
  type Tone,
} from "../ui/mod.ts";
import { portsOf, TunnelState } from "./list.tsx";
import type { RequestInfo, TunnelInfo, TunnelManagement } from "../../relay/mod.ts";

const DAYS = 30;

const DONE = {
  created: "The tunnel is made. Start a client for it with the command below.",
  changed: "The tunnel is changed.",
  enabled: "The tunnel is enabled.",
  disabled: "The tunnel is disabled: it answers 403 from now on.",
};

/** Adds a tunnel's page. */
export function addTunnelDetail(app: HqApp, tunnels: TunnelManagement): void {
  app.get("/tunnels/:id", async (context) => {
    const viewer = requireViewer(context);
    const tunnel = await tunnels.get(viewer, context.req.param("id"));
    const [requests, days] = await Promise.all([
      tunnels.requests(viewer, tunnel.id),
      tunnels.usage(viewer, tunnel.id, DAYS),
    ]);
    return servePage(context, {
      title: tunnel.name,
      section: "tunnels",
      content: (
        <>
          <TunnelHead tunnel={tunnel} />
          {doneNotice(context, DONE)}
          {tunnel.suspended && (
            <Notice tone="bad">
              An admin suspended this tunnel. It returns 403 until they lift the suspension.
            </Notice>
          )}
          <div class="columns side">
            <UsagePanel days={days} />
            <FactsPanel tunnel={tunnel} />
          </div>
          <CommandsPanel tunnel={tunnel} />
          <RequestsPanel requests={requests} tunnel={tunnel} />
          <DeleteDialog tunnel={tunnel} asked={context.req.query("ask")} />
        </>
      ),
    });
  });
  app.post("/tunnels/:id/enabled", async (context) => {
    const viewer = requireViewer(context);
    const enabled = (await readForm(context)).get("enabled") === "yes";
    const { id } = await tunnels.update(viewer, context.req.param("id"), { enabled });
    return goTo(`/tunnels/${id}?done=${enabled ? "enabled" : "disabled"}`);
  });
  app.post("/tunnels/:id/delete", async (context) => {
    await tunnels.remove(requireViewer(context), context.req.param("id"));
    return goTo("/tunnels?done=deleted");
  });
}

function TunnelHead({ tunnel }: { tunnel: TunnelInfo }): Html {
  const { id, name, url, enabled } = tunnel;
  return (
    <PageHead
      back={{ href: "/tunnels", text: "Tunnels" }}
      title={
        <>
          {name}
          <span id="state" data-live>
            <TunnelState tunnel={tunnel} />
          </span>
        </>
      }
      about={
        <>
          <a href={url} rel="noreferrer">{url}</a> <CopyButton text={url} label="the public URL" />
        </>
      }
      actions={
        <>
          <ActionButton action={`/tunnels/${id}/enabled`} values={{ enabled: enabled ? "no" : "yes" }}>
            {enabled ? "Disable" : "Enable"}
          </ActionButton>
          <a class="button" href={`/tunnels/${id}/edit`}>Edit</a>
          <AskButton page={`/tunnels/${id}`} dialog="delete" class="button risky">Delete</AskButton>
        </>
      }
    />
  );
}

function FactsPanel({ tunnel }: { tunnel: TunnelInfo }): Html {
  const { defaultPort, createdAt, live } = tunnel;
  return (
    <Panel title="Details">
      <div id="details" data-live>
        <Facts
          facts={[
            ["Default port", String(defaultPort)],
            ["Allowed ports", portsOf(tunnel)],
            ["Created", <Time key="created" ms={Date.parse(createdAt)} />],
            [
              "Clients",
              live.length === 0 ? "none is connected" : (
                <ul class="words-list">
                  {live.map(({ port, since }) => (
                    <li key={String(port)}>
                      port {port} since <Time ms={Date.parse(since)} />
                    </li>
                  ))}
                </ul>
              ),
            ],
          ]}
        />
      </div>
    </Panel>
  );
}

function UsagePanel({ days }: { days: readonly DayBar[] }): Html {
  const sum = (key: "bytes" | "requests") => days.reduce((total, day) => total + day[key], 0);
  return (
    <Panel
      title="Usage"
      about={`${formatBytes(sum("bytes"))} and ${sum("requests").toLocaleString("en")} requests in ${DAYS} days`}
    >
      <div id="usage" data-live>
        <DayChart days={days} />
      </div>
    </Panel>
  );
}

function CommandsPanel({ tunnel: { name, defaultPort, allowedPorts } }: { tunnel: TunnelInfo }): Html {
  const other = allowedPorts === "all" ? defaultPort + 1 : allowedPorts.find((port) => port !== defaultPort);
  const commands: [string, string][] = [
    [`Port ${defaultPort}, with links to localhost rewritten`, `portway -t ${name} --localhost-rewrite`],
    ["The files of this folder", `portway -t ${name} -f .`],
  ];
  if (other !== undefined && other <= 65535) {
    commands.splice(1, 0, [`Only port ${other}`, `portway -t ${name} -e ${other}`]);
  }
  return (
    <Panel title="Use it" about="On the machine that your service runs on, after portway --login.">
      <Commands commands={commands} />
    </Panel>
  );
}

function RequestsPanel({ requests, tunnel }: { requests: readonly RequestInfo[]; tunnel: TunnelInfo }): Html {
  return (
    <Panel title="Recent requests" about="The last 100, kept in memory." flush>
      <div id="requests" data-live>
        {requests.length === 0
          ? (
            <EmptyState icon="inbox" title="No requests yet">
              {tunnel.live.length === 0
                ? "Start a client and open the public URL: what passes shows up here."
                : "Open the public URL: what passes shows up here."}
            </EmptyState>
          )
          : <RequestTable requests={requests} />}
      </div>
    </Panel>
  );
}

function RequestTable({ requests }: { requests: readonly RequestInfo[] }): Html {
  return (
    <Table
      caption="Recent requests"
      isCompact
      rows={requests}
      keyOf={({ at, path }) => `${at} ${path}`}
      columns={[
        {
          head: "Request",
          cell: ({ method, path }) => (
            <code class="request">
              <b>{method}</b> {path}
            </code>
          ),
        },
        { head: "Status", cell: ({ status }) => <Badge tone={toneOf(status)}>{String(status)}</Badge> },
        { head: "Port", cell: ({ port }) => String(port), align: "end", minor: true },
        { head: "Size", cell: ({ bytes }) => formatBytes(bytes), align: "end" },
        { head: "Took", cell: ({ ms }) => formatDuration(ms), align: "end" },
        { head: "At", cell: ({ at }) => <Time ms={Date.parse(at)} seconds />, align: "end" },
      ]}
    />
  );
}

function toneOf(status: number): Tone {
  return status >= 500 ? "bad" : status >= 400 ? "warn" : status >= 300 || status < 200 ? "plain" : "good";
}

function DeleteDialog({ tunnel: { id, name, url }, asked }: { tunnel: TunnelInfo; asked?: string }): Html {
  return (
    <AskDialog
      id="delete"
      title={`Delete ${name}?`}
      action={`/tunnels/${id}/delete`}
      confirm="Delete the tunnel"
      page={`/tunnels/${id}`}
      asked={asked}
    >
      <p>
        {url}{" "}
        answers 404 from then on, clients that carry it stop, and nobody gets this URL again. To pause a tunnel, disable
        it.
      </p>
    </AskDialog>
  );
}
