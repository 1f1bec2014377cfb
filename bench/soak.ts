// Visitors of all kinds for a long while: GET, POST, WebSocket, server-sent events, HTTP/2 over TLS, and some of each who
// leave in the middle. Streams, descriptors and memory must end where they began, under load and idle.
//   deno task soak [--seconds <n>]     ten minutes when left out; exit code 1 when something has grown
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
 * How much of the time passes before the first rest, and between it and the second: pools fill, code is compiled. All is
 * held against the first rest, but what idle programs have that they do not hold: V8 gives that back in the first rest and
 * not in later ones, so it is held against the second.
 */
const WARM_UP_SHARE = 0.2, AGAIN_SHARE = 0.1;
/** After the last visitor, before anything is measured: the client keeps connections to the service for 30 s. */
const SETTLE_MS = 40_000;
/** Has the programs give back what they do not hold, when they are told to. */
const COLLECTS: Variant = {
  deno: ["--preload", join(ROOT, "bench/programs/collect_hook.ts")],
  env: { DENO_V8_FLAGS: "--expose-gc" },
};
/** For that, and for the system to take the memory back. */
const COLLECT_MS = 2000;
const MAX_SAMPLE_MS = 10_000;
/** Of the time under load that follows, the memory in the first part is compared with that in the last, too. */
const PARTS = 4;
/** What may have grown. */
const MAX_GROWTH = 0.1;
/**
 * Between two visits of one visitor: without it those who leave come faster than what they sent can be passed on, and the
 * connections of one address run out, which is an attack and no soak.
 */
const PAUSE_MS = 100;
/** Visitors at a time of each kind. */
const AT_A_TIME = 4;
const PIECE = new Uint8Array(64 * 1024).fill(120);

/** What an idle program has. */
interface Snapshot {
  streams: number;
  descriptors: number;
  /** All of it, and what is left once nothing is kept that is not held: bytes. */
  memory: number;
  held: number;
}

/** One visit, which resolves once it is over, whichever way. */
type Visit = (endpoint: Endpoint, agent: Agent) => Promise<void>;

/** Requests a path, and reads the answer, of which at most `bytes` before it leaves. */
function get(path: string, bytes = Infinity): Visit {
  return (endpoint, agent) => exchange(endpoint, agent, "GET", path, 0, bytes);
}

/** Sends pieces of 64 KiB to a path, and leaves before the end when told to. */
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
      if (response.statusCode !== 200) reject(new Error(`${method} ${path} was answered ${response.statusCode}`));
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

/** Several paths at once on one connection of HTTP/2. */
async function multiplex({ port, host }: Endpoint): Promise<void> {
  const paths = ["/", "/json", "/bytes/1000000", "/", "/json", "/bytes/200000"];
  const output = await runProgram("curl", [
    ...["-sk", "--no-progress-meter", "--http2", "--parallel", "--resolve", `${host.split(":")[0]}:${port}:127.0.0.1`],
    ...["-w", "%{http_version} %{response_code}\\n"],
    ...paths.flatMap((path) => ["-o", "/dev/null", `https://${host.split(":")[0]}:${port}${path}`]),
  ]);
  const answers = output?.trim().split("\n") ?? [];
  if (answers.length !== paths.length || answers.some((answer) => answer !== "2 200")) {
    throw new Error(`curl was answered ${answers.join(", ")}`);
  }
}

/** One who leaves in the middle of a large answer. */
async function leaveMultiplexed({ port, host }: Endpoint): Promise<void> {
  const url = `https://${host.split(":")[0]}:${port}/bytes/50000000`;
  const resolve = ["--resolve", `${host.split(":")[0]}:${port}:127.0.0.1`];
  // It ends with an error, as it is told to.
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

/** By plain HTTP/1.1 and WebSocket. */
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

/** By HTTP/2 over TLS. */
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
  /** Where a server tells of its streams. */
  health: string | null;
}

/** The memory of each now, in bytes. */
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

/** One visitor after the other, with connections that are kept between them. */
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
