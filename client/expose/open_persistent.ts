import { OptionError } from "../../common/options.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import { portOf } from "../../common/url_port.ts";
import type { ActionContext } from "../action.ts";
import { ApiUnreachable } from "../api/mod.ts";
import { type CarriedPort, carryPorts } from "./carry_ports.ts";
import { openScreen } from "./expose.ts";
import { openLocalService } from "./local_service.ts";
import { openApi } from "../open_api.ts";
import {
  checkAllowance,
  checkPort,
  checkUsable,
  chooseTunnel,
  describeUsage,
  fetchTunnels,
  fetchUsage,
  type ListedTunnel,
  urlOfPort,
} from "../persistent/mod.ts";
import type { Shared } from "./shared.ts";
import type { Screen } from "../terminal/mod.ts";
import { createHandlerTarget, exposeSeveral, type Target } from "../tunnel/mod.ts";

/** The exit code after a stop before the tunnel was open. */
const STOPPED_EARLY = 1;

/**
 * Carries a persistent tunnel until it ends: its default port, the ports of `-e`, or a share.
 * @param name the tunnel's name or its beginning
 * @returns the exit code
 * @throws TunnelUnusable, LoginNeeded, ApiRefused, ApiUnreachable, OptionError
 */
export async function openPersistent(context: ActionContext, name: string, shared: Shared | null): Promise<number> {
  const screen = openScreen(context.config);
  const stop = listenForStop();
  const { signal } = stop;
  let ports: CarriedPort[] = [];
  try {
    const { api, connect, tokens } = await openApi(context);
    const tunnel = chooseTunnel(await fetchTunnels(api), name);
    checkUsable(tunnel);
    const planned = planPorts(tunnel, context);
    const usage = await fetchUsage(api);
    checkAllowance(usage);
    ports = planned.map((port) => openPort(tunnel, port, shared, context, screen));
    shared = null;
    return await carryPorts({
      connect,
      server: api.server,
      tunnel: { id: tunnel.id, secret: tokens, expiresAt: null },
      name: tunnel.name,
      usage: { ...usage, text: describeUsage(usage) },
      ports,
      signal,
      screen,
    });
  } catch (error) {
    if (signal.aborted && error instanceof ApiUnreachable) return STOPPED_EARLY;
    throw error;
  } finally {
    stop.release();
    await shared?.target.close();
    await Promise.all(ports.map(({ target }) => target.close()));
    await screen.flush();
  }
}

/** A tunnel's port and the local service behind it. */
interface PlannedPort {
  port: number;
  url: URL;
}

/** Returns the ports to carry. @throws TunnelUnusable for a port that is not allowed, OptionError for a duplicate */
function planPorts(tunnel: ListedTunnel, { config }: ActionContext): PlannedPort[] {
  const { defaultPort } = tunnel;
  if (config.expose.length === 0) return [{ port: defaultPort, url: new URL(`http://localhost:${defaultPort}`) }];
  const planned = config.expose.map((url) => ({ port: portOf(url), url }));
  for (const [at, { port }] of planned.entries()) {
    checkPort(tunnel, port);
    if (planned.findIndex((other) => other.port === port) < at) {
      throw new OptionError(`-e: port ${port} is given twice`);
    }
  }
  return planned;
}

function openPort(
  tunnel: ListedTunnel,
  { port, url }: PlannedPort,
  shared: Shared | null,
  { config: { expose, hostHeader, localhostRewrite }, log }: ActionContext,
  { note }: Screen,
): CarriedPort {
  if (shared !== null && shared.note !== null) note(shared.note);
  const { defaultPort } = tunnel;
  // With -e, only the given ports are exposed.
  const allowed = expose.length === 0 ? tunnel.allowedPorts : expose.map(portOf);
  const rewrite = localhostRewrite ? exposeSeveral({ defaultPort, allowed }) : null;
  const target: Target = shared === null
    ? openLocalService({ url, hostHeader, rewrite, note, log })
    : createHandlerTarget(shared.name, shared.target);
  const path = shared === null ? url.pathname.replace(/\/+$/, "") : "";
  return { port, isDefault: port === defaultPort, url: `${urlOfPort(tunnel, port)}${path}`, target, path };
}
