import { later } from "../../common/later.ts";
import { portOf } from "../../common/url_port.ts";
import type { ActionContext } from "../action.ts";
import { CommandError } from "../command_error.ts";
import { expose, type ExposeOptions, type Note, openScreen } from "./expose.ts";
import { openLocalService } from "./local_service.ts";
import { openShared } from "./shared.ts";
import { createHandlerTarget, exposeOne, type SavedTunnel } from "../tunnel/mod.ts";

/**
 * Exposes a local service, a folder or a site until Ctrl+C, on a public URL or on the local network.
 * @returns the exit code
 * @throws OptionError for options that exclude each other, and errors from `expose`, `carryPersistent` and
 * `shareLocally`
 */
export async function openTunnel(context: ActionContext): Promise<number> {
  const { config, flags, env, startEmbeddedRelay, isKept, log } = context;
  const shared = await openShared(config, flags, log);
  if (shared !== null && config.local !== null) {
    const { shareLocally }: typeof import("./share_locally.ts") = await import(later("./share_locally.ts"));
    return await shareLocally(config, shared, openScreen(config), log);
  }
  if (config.tunnel !== null) {
    const { openPersistent }: typeof import("./open_persistent.ts") = await import(later("./open_persistent.ts"));
    return await openPersistent(context, config.tunnel, shared);
  }
  const [url = null] = config.expose;
  return await expose({
    config,
    env,
    targetUrl: url === null ? null : `${url.origin}${url.pathname}`.replace(/\/+$/, ""),
    createTarget(note, resumed) {
      if (shared === null) return createLocalService(context, note, resumed);
      if (shared.note !== null) note(shared.note);
      return createHandlerTarget(shared.name, shared.target);
    },
    startEmbeddedRelay,
    isKept,
    log,
  });
}

function createLocalService(
  { config, log }: ActionContext,
  note: Note,
  resumed: SavedTunnel | null,
): ReturnType<ExposeOptions["createTarget"]> {
  const url = config.expose[0] ?? (resumed?.target ? new URL(resumed.target) : null);
  if (url === null) throw new CommandError("the tunnel to resume shared files: name them again, with -f or -w");
  const isRewritten = config.localhostRewrite || resumed?.localhostRewrite === true;
  return openLocalService({
    url,
    hostHeader: config.hostHeader ?? resumed?.hostHeader ?? null,
    rewrite: isRewritten ? exposeOne(portOf(url)) : null,
    note,
    log,
  });
}
