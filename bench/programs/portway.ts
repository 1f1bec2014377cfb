import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readV8Flags } from "../../scripts/v8_flags.ts";
import { DENO, ROOT } from "./helpers.ts";
import { type Program, startProgram } from "./process.ts";
import type { Contestant, ContestantOptions } from "./types.ts";

/** Limits that a benchmark reaches and a public relay needs. */
const LIFTED = ["--ephemeral-bytes", "900000000000000", "--tunnels-per-minute", "1000000"];

/** A Portway server on a free port, with its data in `folder`. */
export interface PortwayServer extends Program {
  port: number;
}

/** Differences from the usual start of one Portway program. */
export interface Variant {
  /** Standard output goes to /dev/null. */
  silent?: boolean;
  /** Deno flags, for example `--preload`. */
  deno?: readonly string[];
  env?: Record<string, string>;
  /** Program flags. */
  flags?: readonly string[];
  /** Maximum open files and sockets for the server; inherited if left out. */
  descriptors?: number;
  /** The server ends TLS itself, for visitors and clients. */
  isSecure?: boolean;
  /** The client connects with TLS, which a program in between ends. */
  trusts?: boolean;
}

const CERTIFICATES = join(ROOT, "net/connection/testdata");
/** A localhost certificate and its key. */
export const CERTIFICATE: string = join(CERTIFICATES, "leaf.pem"), KEY: string = join(CERTIFICATES, "leaf.key");
/** The certificate's issuer. */
export const AUTHORITY: string = join(CERTIFICATES, "ca.pem");
const TLS_FLAGS = ["--tls-cert", CERTIFICATE, "--tls-key", KEY];
const TRUST_FLAGS = ["--ca-certs", AUTHORITY];

/** V8 flags, as in `deno task start` and docs/guides/install.md. */
export const HEAP_FLAGS: string = readV8Flags();

/** Starts the server as users do, without the limits for many tunnels from one address. */
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

/** Starts server and client as users do. The harness reads the client's request log like a terminal. */
export function startPortway(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway", options);
}

/** The same with the client's log sent to /dev/null. */
export function startPortwaySilent(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway, log to /dev/null", options, {}, { silent: true });
}

/** The same with link rewriting. */
export function startPortwayRewriting(options: ContestantOptions): Promise<Contestant> {
  return startTunnel("portway --localhost-rewrite", options, {}, { flags: ["--localhost-rewrite"] });
}

/** Starts server and client with their own variants. */
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

/** Returns the tunnel's host from the client's `--resume` data, because its output can be discarded. */
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
    return ""; // The file disappeared during its rename.
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
      .map((entry) => join(folder, entry.name));
  } catch {
    return []; // The client has not created it yet.
  }
}
