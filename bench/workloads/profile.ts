import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type GenerateLoad, PLAIN } from "../load/mod.ts";
import { ROOT } from "../programs/helpers.ts";
import { startTunnel, type Variant } from "../programs/portway.ts";
import { warmUp } from "./warm_up.ts";

const HOOK = join(ROOT, "bench/programs/profile_hook.ts");
const CONNECTIONS = 128;

/** A function with its share in a program's busy time. */
export interface Cost {
  where: string;
  share: number;
}

export interface Profiles {
  relay: Cost[];
  client: Cost[];
}

/**
 * Returns the functions in relay and client that take the most time under small requests over 128 connections, largest
 * first.
 */
export async function profileTunnel(service: number, generate: GenerateLoad, seconds: number): Promise<Profiles> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-profile-"));
  const files = { relay: join(folder, "relay.json"), client: join(folder, "client.json") };
  const tunnel = await startTunnel(
    "profiled",
    { service },
    hooked(files.relay, seconds),
    hooked(files.client, seconds),
  );
  try {
    const load = { endpoint: tunnel.endpoint, path: "/", head: PLAIN, connections: CONNECTIONS };
    await warmUp(tunnel, generate);
    for (const pid of [...tunnel.relay, ...tunnel.client]) process.kill(pid, "SIGUSR2");
    await generate({ ...load, seconds: seconds + 1 });
    await whenThere([files.relay, files.client]);
    return { relay: readCosts(files.relay), client: readCosts(files.client) };
  } finally {
    await tunnel.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const hooked = (file: string, seconds: number): Variant => ({
  deno: ["--preload", HOOK],
  env: { PROFILE_FILE: file, PROFILE_SECONDS: String(seconds) },
});

async function whenThere(files: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 100 && !files.every((file) => existsSync(file)); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** V8's profile format: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

function readCosts(file: string): Cost[] {
  // V8 wrote this file for this program.
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as CpuProfile;
  const names = new Map(nodes.map(({ id, callFrame }) => [id, describeFrame(callFrame)]));
  const times = new Map<string, number>();
  let busy = 0;
  for (const [i, sample] of samples.entries()) {
    const name = names.get(sample) ?? "(unknown)";
    if (IDLE.has(name)) continue;
    busy += timeDeltas[i];
    times.set(name, (times.get(name) ?? 0) + timeDeltas[i]);
  }
  return [...times].map(([where, time]) => ({ where, share: time / busy })).toSorted((a, b) => b.share - a.share);
}

/** Waiting, or the profiler's own work. */
const IDLE: ReadonlySet<string> = new Set(["(idle)", "post (runtime)"]);

function describeFrame({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]): string {
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return name;
  return url.startsWith("file:")
    ? `${name} ${relative(ROOT, fileURLToPath(url))}:${lineNumber + 1}`
    : `${name} (runtime)`;
}
