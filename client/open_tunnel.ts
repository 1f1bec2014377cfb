import { openConnector } from "../common/connection/mod.ts";
import { later } from "../common/later.ts";
import type { Logger } from "../common/log.ts";
import type { ActionContext } from "./action.ts";
import { CommandError } from "./command_error.ts";
import type { ClientConfig } from "./config.ts";
import { expose, type ExposeOptions, type Note, openScreen } from "./expose.ts";
import { logConnect } from "./log_connect.ts";
import { openShared } from "./shared.ts";
import { createHandlerTarget, createUpstream, exposeOne, type SavedTunnel } from "./tunnel/mod.ts";

/**
 * Gives a local service, a folder or a site a public URL until Ctrl+C, or an address in the local network.
 * @returns the exit code
 * @throws OptionError for options that do not go together, and what `expose` and `shareLocally` throw
 */
export async function openTunnel(context: ActionContext): Promise<number> {
  const { config, flags, env, startEmbeddedRelay, isKept, log } = context;
  const shared = await openShared(config, flags, log);
  if (shared !== null && config.local !== null) {
    const { shareLocally }: typeof import("./share_locally.ts") = await import(later("./share_locally.ts"));
    return await shareLocally(config, shared, openScreen(config), log);
  }
  return await expose({
    config,
    env,
    targetUrl: config.expose === null ? null : `${config.expose.origin}${config.expose.pathname}`.replace(/\/+$/, ""),
    createTarget(note, resumed) {
      if (shared === null) return createLocalService(config, note, resumed, log);
      if (shared.note !== null) note(shared.note);
      return createHandlerTarget(shared.name, shared.target);
    },
    startEmbeddedRelay,
    isKept,
    log,
  });
}

function createLocalService(
  config: ClientConfig,
  note: Note,
  resumed: SavedTunnel | null,
  log: Logger,
): ReturnType<ExposeOptions["createTarget"]> {
  const url = config.expose ?? (resumed?.target ? new URL(resumed.target) : null);
  if (url === null) throw new CommandError("the tunnel to resume shared files: name them again, with -f or -w");
  const hostHeader = config.hostHeader ?? resumed?.hostHeader ?? url.host;
  const isRewritten = config.localhostRewrite || resumed?.localhostRewrite === true;
  return createUpstream({
    url,
    // Straight to it, whatever proxy stands between this machine and the server.
    connect: logConnect(openConnector(), "service", log),
    hostHeader: hostHeader === "public" ? null : hostHeader,
    rewrite: isRewritten ? exposeOne(portOf(url)) : null,
    onReachable: (reachable, reason) =>
      note(reachable ? `${url.origin} answers now.` : `Visitors get 502 until ${url.origin} runs: ${reason}`),
    onTls: () => note(`${url.origin} speaks HTTPS. Stop this tunnel and use -e https://${url.host}`),
  });
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
