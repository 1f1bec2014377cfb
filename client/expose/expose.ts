import { join } from "node:path";
import process from "node:process";
import type { Logger } from "../../common/log.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import { CommandError } from "../command_error.ts";
import { openServerConnector } from "../server_connector.ts";
import { explainNotKept, type OpenRelay, openRelay, type StartEmbeddedRelay } from "./open_relay.ts";
import { type ClientConfig, defaultConfigDir } from "../config.ts";
import type { Connect } from "../../net/connection/mod.ts";
import { ApiRefused, ApiUnreachable } from "../api/mod.ts";
import { exitCodeOf, explainEnd } from "./tunnel_end.ts";
import { openLineWriter, openOutput } from "../../common/output/mod.ts";
import {
  createJsonScreen,
  createTextScreen,
  describeDroppedEvents,
  type Screen,
  type Summary,
} from "../terminal/mod.ts";
import {
  createEphemeralTunnel,
  fetchEphemeralTunnel,
  type OwnedTunnel,
  runTunnel,
  type SavedTunnel,
  SavedTunnels,
  type Target,
} from "../tunnel/mod.ts";

/** Options for an ephemeral tunnel from the command line. */
export interface ExposeOptions {
  config: ClientConfig;
  env: Readonly<Record<string, string | undefined>>;
  /** The target's URL, which `--resume` finds again; null for a target that the command line must name again. */
  targetUrl: string | null;
  /** Creates the target. With `--resume`, `resumed` holds the former one. */
  createTarget(note: Note, resumed: SavedTunnel | null): Target;
  startEmbeddedRelay: StartEmbeddedRelay;
  /** Whether the tunnel, and the state of a relay inside this process, are saved for `--resume`. */
  isKept: boolean;
  log: Logger;
}

/** Shows the user a sentence on standard error. */
export type Note = (text: string) => void;

/** The exit code after a stop before the tunnel was open. */
const STOPPED_EARLY = 1;

/**
 * Opens a tunnel, shows its requests until it ends, and prints the summary.
 * @returns the exit code
 * @throws CommandError, ApiRefused, ApiUnreachable, OptionError
 */
export async function expose(options: ExposeOptions): Promise<number> {
  const { config, env } = options;
  const folder = config.configDir ?? defaultConfigDir(env, process.platform);
  const saved = options.isKept ? new SavedTunnels(folder) : null;
  const resumed = config.resume ? findSaved(saved, config.server) : null;
  const screen = openScreen(config);
  const connect = await openServerConnector(options);
  const note: Note = (text) => screen.note(text);
  const target = options.createTarget(note, resumed);
  const stop = listenForStop();
  let relay: OpenRelay | null = null;
  try {
    relay = await openRelay({
      server: config.server ?? (resumed?.server ? new URL(resumed.server) : null),
      resumed,
      dataDir: saved === null ? null : join(folder, "relay"),
      start: options.startEmbeddedRelay,
      note,
    });
    const server = relay.url;
    const tunnel = resumed === null
      ? await createEphemeralTunnel(connect, server, { signal: stop.signal })
      : await resumeTunnel(connect, server, resumed, saved, stop.signal);
    options.log.debug(resumed === null ? "tunnel_made" : "tunnel_resumed", { id: tunnel.id, server: server.origin });
    const leadsTo = {
      target: options.targetUrl ?? resumed?.target ?? null,
      hostHeader: config.hostHeader ?? resumed?.hostHeader ?? null,
      localhostRewrite: config.localhostRewrite || resumed?.localhostRewrite === true,
    };
    const isKept = saved !== null && relay.place !== null &&
      keepForResume(saved, { ...tunnel, ...relay.place, ...leadsTo }, note);
    const { signal } = stop;
    const path = pathOf(leadsTo.target);
    return await carry({ connect, server, tunnel, target, signal, resumed: resumed !== null, path, isKept }, screen);
  } catch (error) {
    // The user stopped the attempt, so an error message would be redundant.
    if (stop.signal.aborted && error instanceof ApiUnreachable) return STOPPED_EARLY;
    throw error;
  } finally {
    stop.release();
    await target.close();
    await relay?.close();
    await screen.flush();
  }
}

/** Returns a URL's path without a trailing slash. */
function pathOf(url: string | null): string {
  return url === null ? "" : new URL(url).pathname.replace(/\/+$/, "");
}

function findSaved(saved: SavedTunnels | null, server: URL | null): SavedTunnel {
  const found = saved?.findLast(Date.now(), (tunnel) => server === null || tunnel.server === server.origin);
  if (found) return found;
  const where = server === null ? "" : ` at ${server.origin}`;
  throw new CommandError(`there is no tunnel to resume: none that was opened here${where} is still running its time`);
}

/** Saves a tunnel. Returns false if the folder is not writable, which disables only `--resume`. */
function keepForResume(saved: SavedTunnels, tunnel: SavedTunnel, note: Note): boolean {
  try {
    saved.save(tunnel, Date.now());
    return true;
  } catch (error) {
    note(explainNotKept(error));
    return false;
  }
}

async function resumeTunnel(
  connect: Connect,
  server: URL,
  resumed: SavedTunnel,
  saved: SavedTunnels | null,
  signal: AbortSignal,
): Promise<OwnedTunnel> {
  try {
    return await fetchEphemeralTunnel(connect, server, resumed, { signal });
  } catch (error) {
    if (!(error instanceof ApiRefused) || (error.status !== 404 && error.status !== 410)) throw error;
    saved?.remove(resumed.id);
    throw new CommandError(`cannot resume ${resumed.url}: ${error.message}`, { cause: error });
  }
}

interface CarryOptions {
  connect: Connect;
  server: URL;
  tunnel: OwnedTunnel;
  target: Target;
  signal: AbortSignal;
  resumed: boolean;
  /** The exposed path, which visitors should open; empty for the root. */
  path: string;
  /** Whether `--resume` finds the tunnel. */
  isKept: boolean;
}

async function carry({ resumed, isKept, ...run }: CarryOptions, screen: Screen): Promise<number> {
  const summary: Summary = { requests: 0, bytes: 0 };
  let isOpen = false;
  const end = await runTunnel({
    ...run,
    events: {
      onConnected() {
        if (isOpen) return screen.reconnected();
        isOpen = true;
        const { tunnel, path, target } = run;
        screen.opened({ ...tunnel, url: `${tunnel.url}${path}`, target: `${target.name}${path}`, resumed });
      },
      onRequest(request) {
        screen.request(request);
        if (request.upgrade === "open") return;
        summary.requests++;
        summary.bytes += request.bytes;
      },
      onReconnecting: (reason, delayMs) => screen.reconnecting(reason, delayMs),
      onDraining: (active, ms) =>
        screen.note(
          `Finishing ${active} ${active === 1 ? "request" : "requests"}, ${ms / 1000} s at most. ` +
            "Press Ctrl+C again to cut.",
        ),
    },
  });
  const reason = explainEnd(end);
  screen.closed(end.cause === "stopped" && isKept ? `${reason} ${HOW_TO_RESUME}` : reason, summary);
  return exitCodeOf(end);
}

const HOW_TO_RESUME = "--resume takes it back until it expires.";

/** Returns the screen that the options select. */
export function openScreen({ json, noColor, showQr }: ClientConfig): Screen {
  const errors = openLineWriter(openOutput("stderr"));
  const out = openLineWriter(openOutput("stdout"), {
    describeDropped: json ? describeDroppedEvents : undefined,
    onBroken: (reason) => errors.write(`portway: nothing more is shown: ${reason}`),
  });
  if (json) return createJsonScreen(out, errors);
  return createTextScreen({
    out,
    errors,
    color: !noColor && process.stdout.isTTY === true,
    colorErrors: !noColor && process.stderr.isTTY === true,
    showQr,
    // Some pseudo-terminals report 0 for an unknown width.
    columns: process.stdout.columns || undefined,
  });
}
