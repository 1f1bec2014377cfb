import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DENO, ROOT } from "./helpers.ts";
import { type Program, startProgram } from "./process.ts";
import type { Contestant, ContestantOptions } from "./types.ts";

/** Limits that a benchmark runs into and a relay for strangers should have. */
const LIFTED = ["--ephemeral-bytes", "900000000000000", "--tunnels-per-minute", "1000000"];

/** A server of ours, on a free port, that keeps its data in `folder`. */
export interface PortwayServer extends Program {
  port: number;
}

/** Starts the server as its users do, with the limits lifted that many tunnels from one address would meet. */
export async function startPortwayServer(folder: string, flags: readonly string[] = []): Promise<PortwayServer> {
  const program = startProgram(
    DENO,
    ["run", "-A", "server.ts", "--port", "0", "--json", "--data-dir", join(folder, "server"), ...LIFTED, ...flags],
    { cwd: ROOT },
  );
  const [, port] = await program.until(/"port":(\d+)/);
  return { ...program, port: Number(port) };
}

/** Server and client as their users run them: the client's request log is read as by a terminal. */
export function startPortway(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway", options, false);
}

/** The same with the client's log sent to /dev/null. */
export function startPortwaySilent(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway, log to /dev/null", options, true);
}

async function startTunnel(
  name: string,
  { service, between }: ContestantOptions,
  silent: boolean,
): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-"));
  const server = await startPortwayServer(folder);
  const port = await between?.(server.port) ?? server.port;
  const configDir = join(folder, "client");
  const client = startProgram(
    DENO,
    ["run", "-A", "cli.ts", "-e", String(service), "--server", `http://127.0.0.1:${port}`, "--config-dir", configDir],
    { cwd: ROOT, silent },
  );
  if (!silent) await client.until(/Waiting for connections/);
  const host = await findHost(configDir);
  return {
    name,
    endpoint: { port: server.port, host },
    relay: [server.pid],
    client: [client.pid],
    lacks: new Set(),
    async stop() {
      await client.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The tunnel's host, from what the client keeps for `--resume`: its output may go nowhere. */
async function findHost(configDir: string): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    for (const file of listFiles(configDir)) {
      const [, host] = /"url":\s*"https?:\/\/([^/"]+)/.exec(readFileSync(file, "utf8")) ?? [];
      if (host !== undefined) return host;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the client has opened no tunnel");
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
      .map((entry) => join(folder, entry.name));
  } catch {
    return []; // The client has not made it yet.
  }
}
