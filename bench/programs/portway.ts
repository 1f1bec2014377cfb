import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readV8Flags } from "../../scripts/v8_flags.ts";
import { DENO, ROOT } from "./helpers.ts";
import { type Program, startProgram } from "./process.ts";
import type { Contestant, ContestantOptions } from "./types.ts";

/** Limits that a benchmark runs into and a relay for strangers should have. */
const LIFTED = ["--ephemeral-bytes", "900000000000000", "--tunnels-per-minute", "1000000"];

/** A server of ours, on a free port, that keeps its data in `folder`. */
export interface PortwayServer extends Program {
  port: number;
}

/** How one program of ours is run besides what its users do. */
export interface Variant {
  /** Standard output goes to /dev/null. */
  silent?: boolean;
  /** Flags of Deno, e.g. `--preload`. */
  deno?: readonly string[];
  env?: Record<string, string>;
  /** Flags of the program. */
  flags?: readonly string[];
  /** Files and sockets that the server may have open; what this process may when left out. */
  descriptors?: number;
  /** The server ends TLS itself, for visitors and clients. */
  isSecure?: boolean;
  /** The client goes to the server by TLS, which something in between ends. */
  trusts?: boolean;
}

const CERTIFICATES = join(ROOT, "net/connection/testdata");
/** A certificate of localhost, and its key. */
export const CERTIFICATE: string = join(CERTIFICATES, "leaf.pem"), KEY: string = join(CERTIFICATES, "leaf.key");
/** Whose signature it has. */
export const AUTHORITY: string = join(CERTIFICATES, "ca.pem");
const TLS_FLAGS = ["--tls-cert", CERTIFICATE, "--tls-key", KEY];
const TRUST_FLAGS = ["--ca-certs", AUTHORITY];

/** For V8, as `deno task start` and docs/guides/install.md have it. */
export const HEAP_FLAGS: string = readV8Flags();

/** Starts the server as its users do, with the limits lifted that many tunnels from one address would meet. */
export async function startPortwayServer(
  folder: string,
  flags: readonly string[] = [],
  { deno = [], env, descriptors }: Variant = {},
): Promise<PortwayServer> {
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  const program = startProgram(
    "sh",
    ["-c", `${limit}exec "$0" "$@"`, DENO, "run", "-A", HEAP_FLAGS, ...deno, "server.ts"]
      .concat("--port", "0", "--json", "--data-dir", join(folder, "server"), LIFTED, flags),
    { cwd: ROOT, env },
  );
  const [, port] = await program.until(/"port":(\d+)/);
  return { ...program, port: Number(port) };
}

/** Server and client as their users run them: the client's request log is read as by a terminal. */
export function startPortway(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway", options);
}

/** The same with the client's log sent to /dev/null. */
export function startPortwaySilent(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway, log to /dev/null", options, {}, { silent: true });
}

/** The same with links in what the service answers made public. */
export function startPortwayRewriting(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway --localhost-rewrite", options, {}, { flags: ["--localhost-rewrite"] });
}

/** Server and client, each run in its own way. */
export async function startTunnel(
  name: string,
  { service, between }: ContestantOptions,
  serverVariant: Variant = {},
  { silent = false, deno = [], env, flags = [], trusts = false }: Variant = {},
): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-"));
  const { isSecure = false, flags: serverFlags = [] } = serverVariant;
  const server = await startPortwayServer(folder, [...(isSecure ? TLS_FLAGS : []), ...serverFlags], serverVariant);
  const configDir = join(folder, "client");
  const port = await between?.(server.port) ?? server.port;
  const isOverTls = isSecure || trusts;
  const relayUrl = isOverTls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  const client = startProgram(
    DENO,
    ["run", "-A", HEAP_FLAGS, ...deno, "cli.ts"]
      .concat(["-e", String(service), "--server", relayUrl, "--config-dir", configDir])
      .concat(isOverTls ? TRUST_FLAGS : [], flags),
    { cwd: ROOT, silent, env },
  );
  if (!silent) await client.until(/Waiting for connections/);
  const host = await findHost(configDir);
  return {
    name,
    endpoint: { port: server.port, host, isSecure },
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
    for (const file of listFiles(join(configDir, "tunnels"))) {
      const [, host] = /"url":\s*"https?:\/\/([^/"]+)/.exec(readText(file)) ?? [];
      if (host !== undefined) return host;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the client has opened no tunnel");
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // It was a file on its way to its name.
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
      .map((entry) => join(folder, entry.name));
  } catch {
    return []; // The client has not made it yet.
  }
}
