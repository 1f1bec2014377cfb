import { createUpstream } from "../../client/tunnel/mod.ts";
import { type CarriedRequest, type ClientSession, openSession } from "../../client/tunnel/session.ts";
import { openConnector } from "../../net/connection/mod.ts";
import { createLogger } from "../../common/log.ts";
import { resolveOptions } from "../../common/options.ts";
import { GoAwayReason } from "../../protocol/mod.ts";
import { serverOptions } from "../../server/config.ts";
import { startServer } from "../../server/main.ts";
import type { RunningServer } from "../../server/running_server.ts";
import type { Gate, TunnelInfo } from "../../server/relay/mod.ts";
import { LineLog } from "./events.ts";
import { Members } from "./members.ts";
import { visit, type Visited } from "./visit.ts";
import { within } from "./within.ts";

/** A server in this process whose accounts a test makes up; `ann` and `bob` are there, in accounts of their own. */
export interface TunnelServer extends AsyncDisposable {
  readonly url: string;
  readonly members: Members;
  /** What it logs, as JSON. */
  readonly log: LineLog;
  readonly running: RunningServer;
}

/**
 * Starts the server.
 * @param flags by their names in the options table
 * @param gates gates that visitors pass after the server's own
 */
export async function startTunnelServer(
  flags: Record<string, string> = {},
  gates: readonly Gate[] = [],
): Promise<TunnelServer> {
  const members = new Members(), log = new LineLog("the log of the server");
  members.add("ann");
  members.add("bob");
  const given = {
    port: "0",
    dataDir: ":memory:",
    drainSeconds: "0",
    holdSeconds: "0",
    maxSessionsPerAddress: "1000",
    ...flags,
  };
  const config = resolveOptions(serverOptions, { flags: given, env: {} });
  const running = await startServer(config, createLogger({ format: "json", write: (line) => log.add(line) }), {
    members,
    gates,
    sharesFolder: true,
  });
  return {
    url: running.url.origin,
    members,
    log,
    running,
    [Symbol.asyncDispose]: () => running.close(),
  };
}

/** Calls the API as somebody, by their token; as nobody when that is left out. */
export async function callApi(
  server: { url: string },
  token: string | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<Visited> {
  return await visit(`${server.url}/api/v1${path}`, {
    method,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Makes a persistent tunnel by the API. */
export async function makeTunnel(
  server: { url: string },
  token: string,
  some: Record<string, unknown> = {},
): Promise<TunnelInfo> {
  const answer = await callApi(server, token, "POST", "/tunnels", { name: "app", defaultPort: 3000, ...some });
  if (answer.status !== 201) throw new Error(`the tunnel was not made: ${answer.status} ${await answer.text()}`);
  return await answer.json() as TunnelInfo;
}

/** A client that exposes one port of a persistent tunnel. */
export interface Exposed extends AsyncDisposable {
  readonly session: ClientSession;
  /** Why the session ended: the reason's name, and its text. */
  readonly ended: Promise<{ reason: string; text: string }>;
  /** Texts of notices. */
  readonly notices: LineLog;
  readonly requests: CarriedRequest[];
}

export interface ExposeOptions {
  token: string;
  tunnel: { id: string };
  /** The tunnel's port; its default one when left out. */
  port?: number;
  /** Where the service really listens. */
  service: { port: number };
}

/** Opens a session as the client does. Rejects as that does when it is refused. */
export async function expose(server: { url: string }, options: ExposeOptions): Promise<Exposed> {
  const connect = openConnector();
  const url = new URL(`http://127.0.0.1:${options.service.port}`);
  const target = createUpstream({ url, connect, hostHeader: null });
  const ended = Promise.withResolvers<{ reason: string; text: string }>();
  const notices = new LineLog("the notices"), requests: CarriedRequest[] = [];
  const nameOf = (reason: GoAwayReason) =>
    Object.entries(GoAwayReason).find(([, code]) => code === reason)?.[0] ?? String(reason);
  let told: { reason: string; text: string } | null = null;
  const session = await openSession({
    connect,
    server: new URL(server.url),
    tunnel: { id: options.tunnel.id, secret: options.token, expiresAt: null },
    target,
    port: options.port,
    signal: new AbortController().signal,
    events: {
      onRequest: (request) => requests.push(request),
      onNotice: (text) => notices.add(text),
    },
    onGoAway: (reason, text) => told = { reason: nameOf(reason), text },
    onEnd: (reason, text) => ended.resolve(told ?? { reason: nameOf(reason), text }),
  }).catch(async (error) => {
    await target.close();
    throw error;
  });
  return {
    session,
    ended: within("the end of the session", ended.promise),
    notices,
    requests,
    async [Symbol.asyncDispose]() {
      session.close();
      await ended.promise;
      await target.close();
    },
  };
}

/** The public URL of another port of a tunnel. */
export function urlOfPort({ url, label }: TunnelInfo, port: number): string {
  return url.replace(label, `${label}--${port}`);
}
