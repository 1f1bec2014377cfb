// Long-running visitors of all kinds: GET, POST, WebSocket, server-sent events, HTTP/2 over TLS, and some that
// disconnect midway. Streams, descriptors and memory must return to their start values, under load and idle.
//
//   deno task soak [--seconds <n>]     ten minutes by default; exit code 1 after growth
import { readdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { EchoSocket } from "./load/mod.ts";
import { readMemory, readPeakMemory } from "./measure/process_stats.ts";
import { median } from "./measure/stats.ts";
import { readOptions } from "./options.ts";
import { ROOT, startService } from "./programs/helpers.ts";
import { startTunnel, type Variant } from "./programs/portway.ts";
import { runProgram } from "./programs/process.ts";
import type { Endpoint } from "./programs/types.ts";
import { formatNumber, formatTable } from "./report/table.ts";

const MB = 1e6;
/**
 * Share of the time before the first rest, and between the first and second rest: pools fill and code is compiled. The
 * first rest is the baseline. For garbage in idle programs, the second rest is the baseline, because V8 frees it in the
 * first rest and not in later ones.
 */
const WARM_UP_SHARE = 0.2, AGAIN_SHARE = 0.1;
/** Delay after the last visitor before a measurement: the client keeps service connections for 30 s. */
const SETTLE_MS = 40_000;
/** Makes the programs collect garbage on request. */
const COLLECTS: Variant = {
  deno: ["--preload", join(ROOT, "bench/programs/collect_hook.ts")],
  env: { DENO_V8_FLAGS: "--expose-gc" },
};
/** Time for that, and for the system to reclaim the memory. */
const COLLECT_MS = 2000;
const MAX_SAMPLE_MS = 10_000;
/** Parts of the remaining load time. The soak also compares memory in the first and last part. */
const PARTS = 4;
/** Allowed growth, as a share. */
const MAX_GROWTH = 0.1;
/**
 * Pause between two visits. Without it, disconnecting visitors arrive faster than their data can be forwarded, and one
 * address exhausts its connections: an attack, not a soak.
 */
const PAUSE_MS = 100;
/** Concurrent visitors of each kind. */
const AT_A_TIME = 4;
const PIECE = new Uint8Array(64 * 1024).fill(120);

/** An idle program's resources. */
interface Snapshot {
  streams: number;
  descriptors: number;
  /** All memory, and the memory after a garbage collection, in bytes. */
  memory: number;
  held: number;
}

/** One visit. Resolves after its end, successful or not. */
type Visit = (endpoint: Endpoint, agent: Agent) => Promise<void>;

/** Requests a path and reads the response, at most `bytes` before it disconnects. */
function get(path: string, bytes = Infinity): Visit {
  return (endpoint, agent) => exchange(endpoint, agent, "GET", path, 0, bytes);
}

/** Sends 64 KiB chunks to a path, and disconnects before the end if requested. */
function post(path: string, pieces: number, leaves = false): Visit {
  return (endpoint, agent) => exchange(endpoint, agent, "POST", path, pieces, Infinity, leaves);
}

function exchange(
  { port, host }: Endpoint,
  agent: Agent,
  method: string,
  path: string,
  pieces: number,
  bytes: number,
  leaves = false,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", agent, method, path, headers: { host } });
    let read = 0, isLeaving = false;
    sent.on("response", (response) => {
      if (response.statusCode !== 200) reject(new Error(`${method} ${path} got ${response.statusCode}`));
      response.on("data", (piece: Uint8Array) => {
        read += piece.length;
        if (read > bytes) leave();
      });
      response.on("end", resolve);
      response.on("error", fail);
    });
    const leave = () => {
      isLeaving = true;
      sent.destroy();
      resolve();
    };
    const fail = (error: Error) => isLeaving ? resolve() : reject(error);
    sent.on("error", fail);
    for (let piece = 0; piece < pieces; piece++) sent.write(PIECE);
    if (leaves) setTimeout(leave, 20);
    else sent.end();
  });
}

async function echo(endpoint: Endpoint): Promise<void> {
  const socket = await EchoSocket.open(endpoint);
  for (let round = 0; round < 20; round++) {
    await socket.send(10);
    for (let left = 10; left > 0;) left -= await socket.receive();
  }
  socket.close();
}

/** Requests several paths at once over one HTTP/2 connection. */
async function multiplex({ port, host }: Endpoint): Promise<void> {
  const paths = ["/", "/json", "/bytes/1000000", "/", "/json", "/bytes/200000"];
  const output = await runProgram("curl", [
    ...["-sk", "--no-progress-meter", "--http2", "--parallel", "--resolve", `${host.split(":")[0]}:${port}:127.0.0.1`],
    ...["-w", "%{http_version} %{response_code}\\n"],
    ...paths.flatMap((path) => ["-o", "/dev/null", `https://${host.split(":")[0]}:${port}${path}`]),
  ]);
  const answers = output?.trim().split("\n") ?? [];
  if (answers.length !== paths.length || answers.some((answer) => answer !== "2 200")) {
    throw new Error(`curl got ${answers.join(", ")}`);
  }
}

/** A visitor that disconnects within a large response. */
async function leaveMultiplexed({ port, host }: Endpoint): Promise<void> {
  const url = `https://${host.split(":")[0]}:${port}/bytes/50000000`;
  const resolve = ["--resolve", `${host.split(":")[0]}:${port}:127.0.0.1`];
  // curl reports an error here, as intended.
  await runProgram("curl", [
    "-sk",
    "--http2",
    ...resolve,
    "--max-time",
    "0.3",
    "--limit-rate",
    "1M",
    "-o",
    "/dev/null",
    url,
  ]);
}

/** Visits over plain HTTP/1.1 and WebSocket. */
const VISITS: Readonly<Record<string, Visit>> = {
  "GET": get("/"),
  "GET, 10 KB": get("/json"),
  "GET, 1 MB": get("/bytes/1000000"),
  "POST, 256 KB": post("/sink", 4),
  "events": get("/stream"),
  "WebSocket": echo,
  "leaves an answer": get("/bytes/50000000", 200_000),
  "leaves an upload": post("/sink", 8, true),
  "leaves events": get("/stream", 1),
};

/** Visits over HTTP/2 with TLS. */
const SECURE_VISITS: Readonly<Record<string, Visit>> = {
  "HTTP/2, six at once": multiplex,
  "leaves an answer over HTTP/2": leaveMultiplexed,
};

interface Tally {
  counts: Record<string, number>;
  failures: Record<string, number>;
}

async function main(): Promise<number> {
  const values = readOptions({ seconds: { type: "string" } });
  const seconds = Number(values.seconds ?? 600);
  const service = await startService();
  const plain = await startTunnel("portway", { service: service.port }, COLLECTS, { silent: true, ...COLLECTS });
  const secure = await startTunnel(
    "portway, TLS",
    { service: service.port },
    { isSecure: true, ...COLLECTS },
    { silent: true, ...COLLECTS },
  );
  const watched: readonly Watched[] = [
    { name: "server", pid: plain.relay[0], health: `http://127.0.0.1:${plain.endpoint.port}/health` },
    { name: "client", pid: plain.client[0], health: null },
    { name: "server, TLS", pid: secure.relay[0], health: `https://localhost:${secure.endpoint.port}/health` },
    { name: "client, TLS", pid: secure.client[0], health: null },
  ];
  const tally: Tally = { counts: {}, failures: {} };
  const load = async (ms: number) => {
    const until = performance.now() + ms;
    await Promise.all([
      ...runAll(VISITS, plain.endpoint, until, tally),
      ...runAll(SECURE_VISITS, secure.endpoint, until, tally),
    ]);
    await sleep(SETTLE_MS);
  };
  const loadMs = seconds * (1 - WARM_UP_SHARE - AGAIN_SHARE) * 1000,
    sampleMs = Math.min(MAX_SAMPLE_MS, loadMs / (4 * PARTS));
  const inAPart = Math.floor(loadMs / sampleMs / PARTS);
  let samples: number[][] = [];
  const sampler = setInterval(() => void samples.push(sample(watched)), sampleMs);
  try {
    const rest = async (share: number) => {
      await load(seconds * share * 1000);
      return await Promise.all(watched.map(measure));
    };
    const before = await rest(WARM_UP_SHARE), again = await rest(AGAIN_SHARE);
    samples = [];
    await load(loadMs);
    const after = await Promise.all(watched.map(measure));
    const first = mediansOf(samples.slice(0, inAPart));
    const last = mediansOf(samples.slice((PARTS - 1) * inAPart, PARTS * inAPart));
    process.stdout.write(
      `\n${JSON.stringify(tally)}\n\n${formatGrowth(watched, [before, again, after], [first, last])}`,
    );
    const hasGrown = after.some(({ streams, descriptors, memory, held }, at) =>
      streams > 0 || descriptors > before[at].descriptors * (1 + MAX_GROWTH) ||
      memory > again[at].memory * (1 + MAX_GROWTH) || held > before[at].held * (1 + MAX_GROWTH) ||
      last[at] > first[at] * (1 + MAX_GROWTH)
    );
    return hasGrown || Object.keys(tally.failures).length > 0 ? 1 : 0;
  } finally {
    clearInterval(sampler);
    await plain.stop();
    await secure.stop();
    await service.stop();
  }
}

/** A process that must not grow. */
interface Watched {
  name: string;
  pid: number;
  /** Address for the server's stream counts. */
  health: string | null;
}

/** Returns each program's current memory, in bytes. */
function sample(watched: readonly Watched[]): number[] {
  const memory = watched.map(({ pid }) => readMemory([pid]));
  const sizes = watched.map(({ name }, at) => `${name} ${formatNumber(memory[at] / MB)} MB`);
  process.stdout.write(`${formatNumber(performance.now() / 1000)} s: ${sizes.join(", ")}\n`);
  return memory;
}

function mediansOf(samples: readonly number[][]): number[] {
  return samples[0].map((_, at) => median(samples.map((memory) => memory[at])));
}

function formatGrowth(
  watched: readonly Watched[],
  rests: readonly (readonly Snapshot[])[],
  underLoad: readonly (readonly number[])[],
): string {
  const mb = (sizes: readonly number[]) => sizes.map((size) => formatNumber(size / MB)).join(" → ");
  return formatTable(
    ["", "streams", "descriptors", "MB under load", "MB idle", "MB held", "MB peak"],
    watched.map(({ name, pid }, at) => [
      name,
      rests.map((rest) => rest[at].streams).join(" → "),
      rests.map((rest) => rest[at].descriptors).join(" → "),
      mb(underLoad.map((part) => part[at])),
      mb(rests.map((rest) => rest[at].memory)),
      mb(rests.map((rest) => rest[at].held)),
      formatNumber(readPeakMemory([pid]) / MB),
    ]),
  );
}

function runAll(
  visits: Readonly<Record<string, Visit>>,
  endpoint: Endpoint,
  until: number,
  tally: Tally,
): Promise<void>[] {
  return Object.entries(visits).flatMap(([name, visit]) =>
    Array.from({ length: AT_A_TIME }, () => run(name, visit, endpoint, until, tally))
  );
}

/** Runs visitors one after another, with connections that stay open between them. */
async function run(
  name: string,
  visit: Visit,
  endpoint: Endpoint,
  until: number,
  { counts, failures }: Tally,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  while (performance.now() < until) {
    try {
      await visit(endpoint, agent);
      await sleep(PAUSE_MS);
      counts[name] = (counts[name] ?? 0) + 1;
    } catch (error) {
      const reason = `${name}: ${error instanceof Error ? error.message : error}`;
      failures[reason] = (failures[reason] ?? 0) + 1;
    }
  }
  agent.destroy();
}

async function measure({ pid, health }: Watched): Promise<Snapshot> {
  const descriptors = readdirSync(`/proc/${pid}/fd`).length, memory = readMemory([pid]);
  const streams = health === null ? 0 : await countStreams(health);
  process.kill(pid, "SIGUSR2");
  await sleep(COLLECT_MS);
  return { streams, descriptors, memory, held: readMemory([pid]) };
}

async function countStreams(health: string): Promise<number> {
  const { streams } = JSON.parse(await runProgram("curl", ["-sk", health]) ?? "{}") as { streams: number };
  return streams;
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

process.exit(await main());
