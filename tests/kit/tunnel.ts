import type { JsonEvent } from "./events.ts";
import { type Program, startProgram } from "./program.ts";
import { makeTempDir } from "./temp_dir.ts";
import { within } from "./within.ts";

export interface TunnelOptions {
  /** The server, or its URL; none for the client's own. */
  server?: { url: string } | string;
  /** The local service: a port, a URL, or something with a port; none for `--resume`. */
  target?: number | string | { port: number };
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A fresh one, removed afterwards, when not given. */
  configDir?: string;
}

export interface Summary extends JsonEvent {
  event: "summary";
  requests: number;
  bytes: number;
}

/** The real client with an open tunnel, as a process of its own. */
export interface Tunnel extends Program {
  readonly url: string;
  readonly id: string;
  /** What it said when it opened. */
  readonly opened: JsonEvent;
  readonly configDir: string;
  /** Ctrl+C: ends it, and says how it ended. */
  stop(): Promise<{ code: number; summary: Summary }>;
  /** Waits for an end that comes by itself. */
  whenOver(): Promise<{ code: number; summary: Summary }>;
}

/** Starts the client and waits until its tunnel is open. */
export async function startTunnel(options: TunnelOptions): Promise<Tunnel> {
  await using stack = new AsyncDisposableStack();
  const configDir = options.configDir ?? stack.use(await makeTempDir()).path;
  const program = stack.use(startProgram({
    entry: "cli.ts",
    args: [...targetArgs(options.target), ...serverArgs(options.server), ...commonArgs(configDir, options)],
    env: options.env,
  }));
  const opened = await program.events.waitFor("open").catch((cause) => {
    throw new Error(`the tunnel did not open: ${program.errors.text}`, { cause });
  });
  const owned = stack.move();

  async function whenOver(): Promise<{ code: number; summary: Summary }> {
    const summary = await program.events.waitFor("summary") as Summary;
    return { code: (await within("the end of the client", program.ended)).code, summary };
  }

  return {
    ...program,
    url: String(opened.url),
    id: String(opened.id),
    opened,
    configDir,
    whenOver,
    async stop() {
      program.kill("SIGINT");
      return await whenOver();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function targetArgs(target: TunnelOptions["target"]): string[] {
  if (target === undefined) return [];
  return ["-e", String(typeof target === "object" ? target.port : target)];
}

function serverArgs(server: TunnelOptions["server"]): string[] {
  if (server === undefined) return [];
  return ["--server", typeof server === "object" ? server.url : server];
}

function commonArgs(configDir: string, { args = [] }: TunnelOptions): string[] {
  return ["--json", "--config-dir", configDir, ...args];
}
