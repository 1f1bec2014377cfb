/**
 * `deno task bench`: compares the tunnel with a direct connection and with a floor, the minimum for the task. Prints
 * tables. Measures on Linux only, where /proc has the CPU time for each process.
 */
import process from "node:process";
import { BROWSER, chooseLoad, type GenerateLoad, PLAIN } from "./load/mod.ts";
import { type Estimate, median, medianOf, ratioOf } from "./measure/stats.ts";
import { type Rounds, runRounds } from "./measure/rounds.ts";
import { readPeakMemory } from "./measure/process_stats.ts";
import { readOptions } from "./options.ts";
import { startDirect } from "./programs/direct.ts";
import { createFloor } from "./programs/floor.ts";
import { startDelay, startService } from "./programs/helpers.ts";
import { startPortway, startPortwayRewriting, startPortwaySilent } from "./programs/portway.ts";
import { startIdlePortway } from "./programs/portway_idle.ts";
import type { Contestant, StartContestant } from "./programs/types.ts";
import { formatGoals, type Goal } from "./report/goals.ts";
import { formatNumber, formatTable } from "./report/table.ts";
import { type BulkResult, measureDownload, measureText, measureUpload } from "./workloads/bulk.ts";
import { measureIdleTunnels } from "./workloads/idle.ts";
import { measureFirstByte, measureKeptAlive } from "./workloads/latency.ts";
import { measureRequests, type RequestsResult } from "./workloads/requests.ts";
import { warmUpAll } from "./workloads/warm_up.ts";

const CONNECTIONS = [1, 32, 128];
const IDLE_TUNNELS = 1000;
/** Per direction. A round trip between client and server takes twice as long. */
const DELAY_MS = 25;
const BULK_BYTES = 200e6;

interface Plan {
  rounds: number;
  seconds: number;
  generate: GenerateLoad;
}

/** Table data for the goals: every round in each row. */
type Found<Result> = Map<string, Result[]>;

const print = (text: string) => void process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const values = readOptions({ floor: { type: "string" }, quick: { type: "boolean", default: false } });
  const load = await chooseLoad();
  const plan = { rounds: values.quick ? 2 : 5, seconds: values.quick ? 1 : 3, generate: load.generate };
  const service = await startService();
  const starts: StartContestant[] = [startDirect, startPortway, startPortwaySilent];
  if (values.floor !== undefined) starts.splice(1, 0, createFloor(values.floor));
  const contestants: Contestant[] = [];
  for (const start of starts) contestants.push(await start({ service: service.port }));

  print(`Load by ${load.name}; ${plan.rounds} rounds in turn, medians. CPU in microseconds a request.\n`);
  const requests = await benchRequests(contestants, plan);
  const bulk = await benchBulk(contestants, plan);
  await benchFirstByte(contestants, plan);
  for (const contestant of contestants) await contestant.stop();
  const rewritten = await benchRewriting(service.port, plan);
  const overRoundTrips = await benchDelay(starts, service.port, plan);
  await service.stop();
  const idle = await benchIdle();
  print(formatGoals(createGoals(requests, bulk, rewritten, overRoundTrips, idle)));
}

async function benchRequests(all: readonly Contestant[], plan: Plan): Promise<Found<RequestsResult>> {
  const found: Found<RequestsResult> = new Map();
  const rows: string[][] = [];
  await warmUpAll(all, plan.generate);
  for (const [heads, head] of [["plain", PLAIN], ["browser", BROWSER]] as const) {
    for (const connections of CONNECTIONS) {
      const options = { ...plan, path: "/", head, connections };
      const rounds = await runRounds(all, plan.rounds, (contestant) => measureRequests(contestant, options), fail);
      for (const [{ name }, results] of rounds) {
        if (results.length === 0) continue;
        const result = medianOf(results);
        found.set(`${name} ${heads} ${connections}`, results);
        rows.push([heads, String(connections), name, ...Object.values(result).map(formatNumber)]);
      }
    }
  }
  const header = ["heads", "connections", "who", "requests/s", "p50 ms", "p99 ms", "relay µs", "client µs", "both µs"];
  print(formatTable(header, rows));
  return found;
}

async function benchBulk(all: readonly Contestant[], plan: Plan): Promise<Found<BulkResult>> {
  const found: Found<BulkResult> = new Map();
  const rows: string[][] = [];
  const uploads = all.filter((contestant) => !contestant.lacks.has("upload"));
  const ways = [["down", all, measureDownload], ["up", uploads, measureUpload]] as const;
  for (const [way, those, measure] of ways) {
    const rounds = await runRounds(those, plan.rounds, (contestant) => measure(contestant, BULK_BYTES), fail);
    for (const [{ name }, results] of rounds) found.set(`${name} ${way}`, results);
    for (const [contestant, result] of medians(rounds)) {
      const peaks = [contestant.relay, contestant.client].map((pids) => pids.length === 0 ? NaN : mb(pids));
      rows.push([way, contestant.name, ...[...Object.values(result), ...peaks].map(formatNumber)]);
    }
  }
  print(formatTable(["bulk", "who", "MB/s", "CPU ms/100 MB", "relay peak MB", "client peak MB"], rows));
  return found;
}

const mb = (pids: readonly number[]) => readPeakMemory(pids) / 1e6;

async function benchFirstByte(all: readonly Contestant[], { rounds }: Plan): Promise<void> {
  const able = all.filter((contestant) => !contestant.lacks.has("stream"));
  const measure = async (contestant: Contestant) => ({ ms: await measureFirstByte(contestant, "/stream", 5) });
  const rows = medians(await runRounds(able, rounds, measure, fail)).map(([{ name }, { ms }]) => [
    name,
    formatNumber(ms),
  ]);
  print(formatTable(["first byte of a streamed answer", "ms"], rows));
}

/** Measures plain text with and without link rewriting. Returns the MB/s with rewriting. */
async function benchRewriting(service: number, { rounds }: Plan): Promise<number> {
  const contestants = [await startPortway({ service }), await startPortwayRewriting({ service })];
  const found = await runRounds(contestants, rounds, (contestant) => measureText(contestant, BULK_BYTES), fail);
  const rows = medians(found).map((
    [{ name, client }, result],
  ) => [name, ...[...Object.values(result), mb(client)].map(formatNumber)]);
  print(formatTable(["plain text", "MB/s", "CPU ms/100 MB", "client peak MB"], rows));
  for (const contestant of contestants) await contestant.stop();
  return median(found.get(contestants[1])?.map(({ mbPerSecond }) => mbPerSecond) ?? []);
}

/** Returns the number of round trips for a small response, beyond the unavoidable one. */
async function benchDelay(starts: readonly StartContestant[], service: number, plan: Plan): Promise<number> {
  const rows: string[][] = [];
  let ours = NaN;
  for (const start of starts.filter((start) => start !== startDirect && start !== startPortwaySilent)) {
    const stops: (() => Promise<void>)[] = [];
    const between = async (port: number) => {
      const delay = await startDelay(port, DELAY_MS);
      stops.push(delay.stop);
      return delay.port;
    };
    const contestant = await start({ service, between });
    const fresh = await measureFirstByte(contestant, "/", 3 * plan.rounds);
    const kept = await measureKeptAlive(contestant, "/", 3 * plan.rounds);
    if (start === startPortway) ours = Math.max(fresh, kept) / (2 * DELAY_MS) - 1;
    rows.push([contestant.name, formatNumber(fresh), formatNumber(kept)]);
    await contestant.stop();
    for (const stop of stops) await stop();
  }
  print(formatTable([`${2 * DELAY_MS} ms round trip: small answer`, "new connection ms", "kept connection ms"], rows));
  return ours;
}

/** Returns the relay's memory for an idle tunnel, in bytes. */
async function benchIdle(): Promise<number> {
  const result = (await measureIdleTunnels(new Map([["portway", startIdlePortway]]), IDLE_TUNNELS)).get("portway");
  if (result === undefined || result instanceof Error) throw result;
  const { relayBytes, clientBytes, perSecond } = result;
  const row = ["portway", ...[relayBytes / 1000, clientBytes / 1000, perSecond].map(formatNumber)];
  print(formatTable([`${IDLE_TUNNELS} idle tunnels`, "relay kB each", "clients kB each", "opened per s"], [row]));
  return relayBytes;
}

function createGoals(
  requests: Found<RequestsResult>,
  bulk: Found<BulkResult>,
  rewritten: number,
  roundTrips: number,
  idle: number,
): Goal[] {
  const p99 = (key: string) => median(requests.get(key)?.map(({ p99Ms }) => p99Ms) ?? []);
  const cpu = (heads: string) => besideFloor(requests, `${heads} 128`, ({ cpuUs }) => cpuUs);
  return [
    { name: "CPU beside the floor, 128 connections", ...cpu("plain"), bound: 1.3, kind: "at most" },
    { name: "the same with browser heads", ...cpu("browser"), bound: 1.3, kind: "at most" },
    {
      name: "bulk beside the floor",
      ...besideFloor(bulk, "down", (result) => result.mbPerSecond),
      bound: 0.9,
      kind: "at least",
    },
    { name: "plain text with links rewritten, MB/s", value: rewritten, bound: 200, kind: "at least" },
    { name: "p99 at 32 connections, ms", value: p99("portway plain 32"), bound: 20, kind: "at most" },
    { name: "p99 at 128 connections, ms", value: p99("portway plain 128"), bound: 20, kind: "at most" },
    { name: "relay memory of an idle tunnel, kB", value: idle / 1000, bound: 40, kind: "at most" },
    { name: "round trips above one, 50 ms each", value: roundTrips, bound: 2, kind: "at most" },
  ];
}

/** Divides our figure by the floor's. */
function besideFloor<Result>(found: Found<Result>, row: string, figure: (result: Result) => number): Estimate {
  const figures = (who: string) => (found.get(`${who} ${row}`) ?? []).map(figure);
  return ratioOf(figures("portway"), figures("floor"));
}

/** Medians for all measured fields. */
function medians<Result extends Record<keyof Result, number>>(rounds: Rounds<Result>): [Contestant, Result][] {
  return [...rounds].filter(([, results]) => results.length > 0).map(([who, results]) => [who, medianOf(results)]);
}

function fail({ name }: Contestant, error: unknown): void {
  process.stderr.write(`${name}: ${error instanceof Error ? error.message : error}\n`);
}

await main();
process.exit(0);
