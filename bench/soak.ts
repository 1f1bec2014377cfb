// Visitors of all kinds for a long while: GET, POST, WebSocket, server-sent events, and some of each who leave in the
// middle. Streams, descriptors and memory must end where they began.
//   deno task soak [--seconds <n>]     ten minutes when left out; exit code 1 when something has grown
import { readdirSync } from "node:fs";
import { Agent, request } from "node:http";
import process from "node:process";
import { parseArgs } from "node:util";
import { EchoSocket } from "./load/mod.ts";
import { readMemory, readPeakMemory } from "./measure/process_stats.ts";
import { startService } from "./programs/helpers.ts";
import { startTunnel } from "./programs/portway.ts";
import type { Endpoint } from "./programs/types.ts";
import { formatNumber, formatTable } from "./report/table.ts";

const MB = 1e6;
/** How much of the time passes before the beginning is measured: pools fill, code is compiled. */
const WARM_UP_SHARE = 0.2;
/** After the last visitor, before the end is measured. */
const SETTLE_MS = 15_000;
const SAMPLE_MS = 10_000;
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

interface Snapshot {
  streams: number;
  descriptors: number;
  memory: number;
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

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { seconds: { type: "string" } } });
  const seconds = Number(values.seconds ?? 600);
  const service = await startService();
  const tunnel = await startTunnel("portway", { service: service.port }, {}, { silent: true });
  const [relay] = tunnel.relay, [client] = tunnel.client;
  const counts: Record<string, number> = {}, failures: Record<string, number> = {};
  const until = performance.now() + seconds * 1000;
  try {
    const running = Object.entries(VISITS).flatMap(([name, visit]) =>
      Array.from({ length: AT_A_TIME }, () => run(name, visit, tunnel.endpoint, until, counts, failures))
    );
    await sleep(seconds * WARM_UP_SHARE * 1000);
    const before = [await measure(tunnel.endpoint.port, relay), await measure(tunnel.endpoint.port, client)];
    const sampler = setInterval(() => {
      process.stdout.write(
        `${formatNumber((until - performance.now()) / 1000)} s left: server ${
          formatNumber(readMemory([relay]) / MB)
        } MB,` +
          ` client ${formatNumber(readMemory([client]) / MB)} MB\n`,
      );
    }, SAMPLE_MS);
    await Promise.all(running);
    clearInterval(sampler);
    await sleep(SETTLE_MS);
    const after = [await measure(tunnel.endpoint.port, relay), await measure(tunnel.endpoint.port, client)];
    process.stdout.write(`\n${JSON.stringify({ counts, failures })}\n\n`);
    process.stdout.write(formatTable(
      ["", "streams", "descriptors", "MB before", "MB after", "MB peak"],
      ["server", "client"].map((name, at) => [
        name,
        String(after[at].streams),
        `${before[at].descriptors} → ${after[at].descriptors}`,
        formatNumber(before[at].memory / MB),
        formatNumber(after[at].memory / MB),
        formatNumber(readPeakMemory([at === 0 ? relay : client]) / MB),
      ]),
    ));
    const hasGrown = after.some((snapshot, at) =>
      snapshot.streams > 0 || snapshot.descriptors > before[at].descriptors * (1 + MAX_GROWTH) ||
      snapshot.memory > before[at].memory * (1 + MAX_GROWTH)
    );
    return hasGrown || Object.keys(failures).length > 0 ? 1 : 0;
  } finally {
    await tunnel.stop();
    await service.stop();
  }
}

/** One visitor after the other, with connections that are kept between them. */
async function run(
  name: string,
  visit: Visit,
  endpoint: Endpoint,
  until: number,
  counts: Record<string, number>,
  failures: Record<string, number>,
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

async function measure(port: number, pid: number): Promise<Snapshot> {
  const answer = await fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: "close" } });
  const { streams } = await answer.json() as { streams: number };
  return { streams, descriptors: readdirSync(`/proc/${pid}/fd`).length, memory: readMemory([pid]) };
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

process.exit(await main());
