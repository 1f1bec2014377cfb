import type { ActionContext } from "../action.ts";
import { askLine, isAttended } from "./ask_line.ts";
import { openApi } from "../open_api.ts";
import { detailTunnel, fetchTunnels, type ListedTunnel, listTunnels } from "../persistent/mod.ts";
import { alignFields } from "../terminal/mod.ts";
import { type ReportingContext, withReporter } from "./with_reporter.ts";

/** Runs `--tunnels-list`: prints the account's persistent tunnels; at a terminal, typing a number shows that tunnel. */
export async function showTunnels(context: ActionContext): Promise<number> {
  return await withReporter(context, run);
}

async function run(context: ReportingContext): Promise<number> {
  const { config, reporter } = context;
  const { api } = await openApi(context);
  const tunnels = await fetchTunnels(api);
  const lines = tunnels.length === 0
    ? ["There is no persistent tunnel yet: make one on the server's site."]
    : listTunnels(tunnels);
  reporter.report("tunnels", { tunnels }, lines);
  if (tunnels.length > 0 && !config.json && isAttended()) await showAsked(tunnels, context);
  return 0;
}

async function showAsked(tunnels: readonly ListedTunnel[], { reporter }: ReportingContext): Promise<void> {
  for (;;) {
    await reporter.flush();
    const line = (await askLine("\nNumber for details (Enter ends): "))?.trim();
    if (!line) return;
    const tunnel = tunnels[Number(line) - 1] ?? tunnels.find(({ name }) => name === line);
    if (tunnel === undefined) reporter.note(`"${line}" is no number from 1 to ${tunnels.length}.`);
    else reporter.report("tunnel", { tunnel }, alignFields(detailTunnel(tunnel)));
  }
}
