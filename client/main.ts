import process from "node:process";
import { object, or } from "@optique/core/constructs";
import { lineBreak, message, text } from "@optique/core/message";
import { command, constant } from "@optique/core/primitives";
import { runSync } from "@optique/run";
import { createFlagParser, type FlagTexts, splitValues } from "../common/command_line.ts";
import { printable } from "../common/format.ts";
import { createLogger, describeError, type Logger } from "../common/log.ts";
import { OptionError, type OptionTable, resolveOptions } from "../common/options.ts";
import { PROJECT, RELEASE } from "../common/release.ts";
import { type ClientConfig, clientOptions } from "./config.ts";
import { CommandError } from "./command_error.ts";
import { expose, type ExposeOptions, type Note, openScreen } from "./expose.ts";
import type { StartEmbeddedRelay } from "./open_relay.ts";
import { openConnector } from "../common/connection/mod.ts";
import { logConnect } from "./log_connect.ts";
import { shareLocally } from "./share_locally.ts";
import { openShared, selectEnv } from "./shared.ts";
import { createHandlerTarget, createUpstream, type SavedTunnel } from "./tunnel/mod.ts";

/** What the client needs of the server, which it does not know: the entry file introduces them. */
export interface ServerProgram {
  options: OptionTable;
  /** Runs the server until it is told to stop. Returns the exit code. */
  run(flags: FlagTexts): Promise<number>;
  proxyOptions: OptionTable;
  /** Runs a server that is only a proxy, likewise. */
  runProxy(flags: FlagTexts): Promise<number>;
  startEmbeddedRelay: StartEmbeddedRelay;
}

const USAGE_ERROR = 2;

export interface MainOptions {
  /** Whether tunnels are kept for `--resume`; default true. */
  isKept?: boolean;
}

/**
 * The `portway` command.
 * @param args the command line without the program's name
 * @returns the exit code: 0, 2 for wrong usage, 1 for every other failure
 */
export async function main(
  args: readonly string[],
  server: ServerProgram,
  { isKept = true }: MainOptions = {},
): Promise<number> {
  const parsed = parse(args, server);
  try {
    if (parsed.command === "server") return await server.run(parsed.flags);
    if (parsed.command === "proxy") return await server.runProxy(parsed.flags);
    return await runClient(parsed.flags, server, isKept);
  } catch (error) {
    process.stderr.write(`portway: ${printable(describeError(error))}\n`);
    return error instanceof OptionError ? USAGE_ERROR : 1;
  }
}

interface ParsedArgs {
  command: "server" | "proxy" | "client";
  flags: FlagTexts;
}

function parse(args: readonly string[], server: ServerProgram): ParsedArgs {
  const parser = or(
    command(
      "server",
      object({ command: constant("server"), flags: createFlagParser(server.options) }),
      { description: message`run the server: relay, API and proxy` },
    ),
    command(
      "proxy",
      object({ command: constant("proxy"), flags: createFlagParser(server.proxyOptions) }),
      { description: message`run the CORS proxy alone` },
    ),
    object({ command: constant("client"), flags: createFlagParser(clientOptions) }),
  );
  return runSync(parser, {
    args: splitValues(args.length === 0 ? ["--help"] : args, ["-e", "-f", "-w", "-p", "-t"], clientOptions),
    programName: "portway",
    brief: message`${text(`${PROJECT}: a public URL for what runs on this machine`)}`,
    footer: EXAMPLES.split("\n").flatMap((line, at) => at === 0 ? [text(line)] : [lineBreak(), text(line)]),
    help: "option",
    version: { value: RELEASE, option: true },
    completion: "command",
    aboveError: "none",
    errorExitCode: USAGE_ERROR,
    colors: process.stdout.isTTY === true && !process.env.NO_COLOR,
  });
}

const EXAMPLES = `Examples:
  portway -e 3000                     a public URL for http://localhost:3000
  portway -e 3000 --show-qr           the same, with a QR code for a phone
  portway -f .                        share this folder, read-only
  portway -fw inbox -p                share a folder for uploads, with a passphrase
  portway -fw inbox --drop            take files from strangers, who see nothing of it
  portway -w dist --spa --live        a single-page application that reloads
  portway -f . --local                share on the local network, without a server
  portway --resume                    the last tunnel again, under its URL
  portway server --port 8787          run a server
  portway proxy                       only the CORS proxy, on this machine`;

async function runClient(flags: FlagTexts, server: ServerProgram, isKept: boolean): Promise<number> {
  const config = resolveOptions(clientOptions, { flags, env: selectEnv(flags, process.env) });
  const log = createLogger({ level: config.verbose ? "debug" : "warn" });
  try {
    return await runWith(config, flags, server, isKept, log);
  } finally {
    await log.flush();
  }
}

async function runWith(
  config: ClientConfig,
  flags: FlagTexts,
  server: ServerProgram,
  isKept: boolean,
  log: Logger,
): Promise<number> {
  const shared = await openShared(config, flags, log);
  if (shared !== null && config.local !== null) return await shareLocally(config, shared, openScreen(config), log);
  if (shared === null && config.expose === null && !config.resume) {
    throw new OptionError("nothing to do: -e <port> exposes a local service, --help shows everything");
  }
  return await expose({
    config,
    env: process.env,
    targetUrl: config.expose === null ? null : `${config.expose.origin}${config.expose.pathname}`.replace(/\/+$/, ""),
    createTarget(note, resumed) {
      if (shared === null) return createLocalService(config, note, resumed, log);
      if (shared.note !== null) note(shared.note);
      return createHandlerTarget(shared.name, shared.target);
    },
    startEmbeddedRelay: server.startEmbeddedRelay,
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
  return createUpstream({
    url,
    // Straight to it, whatever proxy stands between this machine and the server.
    connect: logConnect(openConnector(), "service", log),
    hostHeader: hostHeader === "public" ? null : hostHeader,
    onReachable: (reachable, reason) =>
      note(reachable ? `${url.origin} answers now.` : `Visitors get 502 until ${url.origin} runs: ${reason}`),
    onTls: () => note(`${url.origin} speaks HTTPS. Stop this tunnel and use -e https://${url.host}`),
  });
}
