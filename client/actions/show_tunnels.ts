import type { ActionContext } from "../action.ts";
import { askLine, isAttended } from "./ask_line.ts";
import { openApi } from "../open_api.ts";
import { detailTunnel, fetchTunnels, type ListedTunnel, listTunnels } from "../persistent/mod.ts";
import { alignFields } from "../terminal/mod.ts";
import { type TellingContext, withTeller } from "./with_teller.ts";

/** Runs `--tunnels-list`: prints the account's persistent tunnels; at a terminal, typing a number shows that tunnel. */
export async function showTunnels(context: ActionContext): Promise<number> {
  return await withTeller(context, run);
}

async function run(context: TellingContext): Promise<number> {
  const { config, teller } = context;
  const { api } = await openApi(context);
  const tunnels = await fetchTunnels(api);
  const lines = tunnels.length === 0
    ? ["There is no persistent tunnel yet: make one on the server's site."]
    : listTunnels(tunnels);
  teller.tell("tunnels", { tunnels }, lines);
  if (tunnels.length > 0 && !config.json && isAttended()) await showAsked(tunnels, context);
  return 0;
}

async function showAsked(tunnels: readonly ListedTunnel[], { teller }: TellingContext): Promise<void> {
  for (;;) {
    await teller.flush();
    const line = (await askLine("\nNumber for details (Enter ends): "))?.trim();
    if (!line) return;
    const tunnel = tunnels[Number(line) - 1] ?? tunnels.find(({ name }) => name === line);
    if (tunnel === undefined) teller.note(`"${line}" is no number from 1 to ${tunnels.length}.`);
    else teller.tell("tunnel", { tunnel }, alignFields(detailTunnel(tunnel)));
  }
}
