import process from "node:process";
import { nameFlags } from "../common/command_line/mod.ts";
import { createLogger } from "../common/log.ts";
import { OptionError, resolveOptions } from "../common/options.ts";
import type { CarryOut, ClientRun } from "./action.ts";
import { type ClientConfig, clientOptions } from "./config.ts";
import { selectEnv } from "./expose/shared.ts";

/** One purpose of a client run. */
interface Action {
  /** Options that select it, any of them. */
  readonly options: readonly (keyof ClientConfig)[];
  load(): Promise<CarryOut>;
}

/** All actions, one file each; a run selects one. */
const ACTIONS: readonly Action[] = [
  {
    options: ["expose", "tunnel", "files", "filesWrite", "web", "resume"],
    load: async () => (await import("./expose/open_tunnel.ts")).openTunnel,
  },
  { options: ["licenses"], load: async () => (await import("./print_documents.ts")).printLicences },
  { options: ["login"], load: async () => (await import("./actions/start_login.ts")).startLogin },
  { options: ["logout"], load: async () => (await import("./actions/end_login.ts")).endLogin },
  { options: ["whoami"], load: async () => (await import("./actions/show_whoami.ts")).showWhoami },
  { options: ["switchAccount"], load: async () => (await import("./actions/change_account.ts")).changeAccount },
  { options: ["tunnelsList"], load: async () => (await import("./actions/show_tunnels.ts")).showTunnels },
  { options: ["viewsAdd"], load: async () => (await import("./actions/add_view.ts")).addView },
  { options: ["viewsList"], load: async () => (await import("./actions/list_views.ts")).listViews },
  { options: ["viewsOpen"], load: async () => (await import("./actions/open_view.ts")).openView },
  { options: ["viewsTail"], load: async () => (await import("./actions/tail_view.ts")).tailView },
  { options: ["viewsReplay"], load: async () => (await import("./actions/replay_capture.ts")).replayCapture },
];

/**
 * Runs the action that the options select.
 * @returns the exit code
 * @throws OptionError for wrong usage, and the action's errors
 */
export async function runClient(run: ClientRun): Promise<number> {
  const { flags } = run, { env } = process;
  const config = resolveOptions(clientOptions, { flags, env: selectEnv(flags, env) });
  const log = createLogger({ level: config.verbose ? "debug" : "warn" });
  try {
    checkCompanions(config);
    const carryOut = await findAction(config).load();
    return await carryOut({ ...run, config, env, log });
  } finally {
    await log.flush();
  }
}

/** Options without a meaning alone. */
const COMPANIONS: readonly (readonly [option: keyof ClientConfig, ...of: (keyof ClientConfig)[]])[] = [
  ["token", "login"],
  ["noBrowser", "login"],
  ["forward", "viewsTail", "viewsReplay"],
  ["since", "viewsTail"],
  ["verify", "viewsTail"],
];

function checkCompanions(config: ClientConfig): void {
  for (const [name, ...others] of COMPANIONS) {
    if (!isAsked(config, name) || others.some((other) => isAsked(config, other))) continue;
    const wanted = others.map((other) => nameFlags(clientOptions[other])).join(" or ");
    throw new OptionError(`${nameFlags(clientOptions[name])} goes with ${wanted}`);
  }
}

function isAsked(config: ClientConfig, name: keyof ClientConfig): boolean {
  const value: unknown = config[name];
  return value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function findAction(config: ClientConfig): Action {
  const asked = ACTIONS.map((action) => ({ action, names: action.options.filter((name) => isAsked(config, name)) }))
    .filter(({ names }) => names.length > 0);
  if (asked.length > 1) {
    const names = asked.map((one) => nameFlags(clientOptions[one.names[0]]));
    throw new OptionError(`${names.join(" and ")} do not go together: give one of them`);
  }
  if (asked.length === 0) {
    throw new OptionError("no action is given: -e <port> exposes a local service, --help shows all options");
  }
  return asked[0].action;
}
