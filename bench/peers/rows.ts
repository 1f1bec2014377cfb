import type { GenerateLoad, Head } from "../load/mod.ts";
import { BROWSER, PLAIN } from "../load/mod.ts";
import { readMemory, readPeakMemory } from "../measure/process_stats.ts";
import { type Rounds, runRounds } from "../measure/rounds.ts";
import { medianOf, spread } from "../measure/stats.ts";
import { startDelay } from "../programs/helpers.ts";
import type { Contestant, StartContestant } from "../programs/types.ts";
import { measureDownload, measureUpload } from "../workloads/bulk.ts";
import { measureFirstByte, measureKeptAlive } from "../workloads/latency.ts";
import { measureRequests } from "../workloads/requests.ts";
import { warmUpAll } from "../workloads/warm_up.ts";
import { measureEcho } from "../workloads/websocket.ts";

/** One workload with each contestant's medians by column. */
export interface Section {
  title: string;
  columns: readonly Column[];
  rows: SectionRow[];
}

export interface Column {
  key: string;
  title: string;
}

export interface SectionRow {
  name: string;
  /** Medians by column key. */
  values: Record<string, number>;
  /** The same for each round, in order. */
  rounds: readonly Record<string, number>[];
  /** Half the range in the first column, relative to its median. */
  spread: number;
  /** Reason for missing values. */
  failure?: string;
}

export interface RowOptions {
  generate: GenerateLoad;
  rounds: number;
  /** Duration for one measurement under load. */
  seconds: number;
}

const HEADS: readonly (readonly [name: string, head: Head])[] = [["plain", PLAIN], ["browser-like", BROWSER]];

const REQUEST_COLUMNS = [
  { key: "perSecond", title: "requests/s" },
  { key: "p50Ms", title: "p50 ms" },
  { key: "p99Ms", title: "p99 ms" },
  { key: "relayUs", title: "relay µs/request" },
  { key: "clientUs", title: "client µs/request" },
  { key: "cpuUs", title: "both µs/request" },
];

/** Small responses over 128 connections, with client sessions over TLS. */
export async function benchTls(all: readonly Contestant[], options: RowOptions): Promise<Section> {
  await warmUpAll(all, options.generate);
  const load = { ...options, path: "/", head: PLAIN, connections: 128 };
  const measure = (contestant: Contestant) => measureRequests(contestant, load);
  return await benchSection(OVER_TLS, REQUEST_COLUMNS, all, options.rounds, measure);
}

/** Title for {@link benchTls}. */
export const OVER_TLS = "12 bytes, 128 connections, the client's session over TLS";

/** Small responses: 12 bytes at 1, 32 and 128 connections with both kinds of heads, then 10 KB JSON. */
export async function benchRequests(all: readonly Contestant[], options: RowOptions): Promise<Section[]> {
  const sections: Section[] = [];
  const bench = async (title: string, path: string, head: Head, connections: number, those = all) => {
    const load = { ...options, path, head, connections };
    sections.push(
      await benchSection(
        title,
        REQUEST_COLUMNS,
        those,
        options.rounds,
        (contestant) => measureRequests(contestant, load),
      ),
    );
  };
  await warmUpAll(all, options.generate);
  for (const [name, head] of HEADS) {
    for (const count of [1, 32, 128]) await bench(`12 bytes, ${count} connections, ${name} heads`, "/", head, count);
  }
  await bench("10 KB of JSON, 32 connections", "/json", PLAIN, 32, all.filter(({ lacks }) => !lacks.has("json")));
  return [...sections, benchMemory(AFTER_REQUESTS, all)];
}

const BULK_COLUMNS = [{ key: "mbPerSecond", title: "MB/s" }, { key: "cpuMsPer100Mb", title: "CPU ms/100 MB" }];

/** A 1 GB body takes seconds and is its own average. Small bodies take half a second and differ by a third. */
const MOST_GB_ROUNDS = 2, LEAST_MB_ROUNDS = 15;
/** Unmeasured 1 MB bodies in each direction, and seconds with messages, while runtimes compile. */
const FIRST_BODIES = 500, FIRST_SECONDS = 4;

async function doFirst(all: readonly Contestant[], work: (contestant: Contestant) => Promise<unknown>): Promise<void> {
  // Failures occur again during the measurement, which reports them.
  for (const contestant of all) await work(contestant).catch(() => {});
}

/** 1 MB and 1 GB bodies, in both directions. */
export async function benchBulk(all: readonly Contestant[], { rounds }: RowOptions): Promise<Section[]> {
  const uploading = all.filter((contestant) => !contestant.lacks.has("upload"));
  await doFirst(all, (contestant) => measureDownload(contestant, 1e6, FIRST_BODIES));
  await doFirst(uploading, (contestant) => measureUpload(contestant, 1e6, FIRST_BODIES));
  const bench = (title: string, those: readonly Contestant[], work: typeof measureDownload, size: number, count = 1) =>
    benchSection(
      title,
      BULK_COLUMNS,
      those,
      size < 1e9 ? Math.max(rounds, LEAST_MB_ROUNDS) : Math.min(rounds, MOST_GB_ROUNDS),
      (contestant) => work(contestant, size, count),
    );
  const sections = [
    await bench("100 bodies of 1 MB down, one after the other", all, measureDownload, 1e6, 100),
    await bench("one body of 1 GB down", all, measureDownload, 1e9),
    await bench("100 bodies of 1 MB up, one after the other", uploading, measureUpload, 1e6, 100),
    await bench("one body of 1 GB up", uploading, measureUpload, 1e9),
  ];
  return [...sections, benchMemory(AFTER_BULK, all)];
}

/** Memory in programs that have carried requests, or bodies, and no other load. */
export const AFTER_REQUESTS = "memory after these requests", AFTER_BULK = "memory after these bodies";

function benchMemory(title: string, all: readonly Contestant[]): Section {
  const columns = [
    { key: "relayMb", title: "relay MB" },
    { key: "clientMb", title: "client MB" },
    { key: "relayPeakMb", title: "relay peak MB" },
    { key: "clientPeakMb", title: "client peak MB" },
  ];
  const mb = (read: typeof readMemory, pids: readonly number[]) => pids.length === 0 ? NaN : read(pids) / 1e6;
  const rows = all.filter(({ relay }) => relay.length > 0).map(({ name, relay, client }) =>
    rowOfOne(name, {
      relayMb: mb(readMemory, relay),
      clientMb: mb(readMemory, client),
      relayPeakMb: mb(readPeakMemory, relay),
      clientPeakMb: mb(readPeakMemory, client),
    })
  );
  return { title, columns, rows };
}

/** Time to the first byte when the second chunk follows a second later. */
export function benchFirstByte(all: readonly Contestant[], { rounds }: RowOptions): Promise<Section> {
  const able = all.filter((contestant) => !contestant.lacks.has("stream"));
  return benchSection("first byte of a streamed answer", [{ key: "ms", title: "ms" }], able, rounds, async (one) => ({
    ms: await measureFirstByte(one, "/stream", 5),
  }));
}

/** Small messages over eight WebSockets with sixteen in flight on each. */
export async function benchEcho(all: readonly Contestant[], { rounds, seconds }: RowOptions): Promise<Section> {
  const columns = [
    { key: "messagesPerSecond", title: "messages/s" },
    { key: "cpuUs", title: "CPU µs/message" },
    { key: "latencyMs", title: "one alone, ms" },
  ];
  const able = all.filter((contestant) => !contestant.lacks.has("websocket"));
  await doFirst(able, (one) => measureEcho(one, FIRST_SECONDS));
  return await benchSection("WebSocket echo of 32 bytes", columns, able, rounds, (one) => measureEcho(one, seconds));
}

const DELAY_MS = 25;
const DELAYED_BYTES = 1e8;

/** Small responses and one body in each direction, with a TCP relay in between that delays each byte by 25 ms. */
export async function benchDelay(starts: ReadonlyMap<string, StartContestant>, service: number): Promise<Section> {
  const columns = [
    { key: "freshMs", title: "12 bytes, new connection ms" },
    { key: "keptMs", title: "kept connection ms" },
    { key: "downMb", title: "100 MB down, MB/s" },
    { key: "upMb", title: "100 MB up, MB/s" },
  ];
  const section: Section = { title: "over 50 ms of round trip between client and relay", columns, rows: [] };
  for (const [name, start] of starts) {
    const stops: (() => Promise<void>)[] = [];
    const between = async (port: number) => {
      const delay = await startDelay(port, DELAY_MS);
      stops.push(delay.stop);
      return delay.port;
    };
    try {
      const contestant = await start({ service, between });
      stops.unshift(contestant.stop);
      const values = {
        freshMs: await measureFirstByte(contestant, "/", 9),
        keptMs: await measureKeptAlive(contestant, "/", 9),
        downMb: (await measureDownload(contestant, DELAYED_BYTES, 1)).mbPerSecond,
        upMb: contestant.lacks.has("upload") ? NaN : (await measureUpload(contestant, DELAYED_BYTES, 1)).mbPerSecond,
      };
      section.rows.push(rowOfOne(name, values));
    } catch (error) {
      section.rows.push({ ...rowOfOne(name, {}), failure: describeFailure(error) });
    }
    for (const stop of stops) await stop();
  }
  return section;
}

/** Returns a row for a single measurement. */
export function rowOfOne(name: string, values: Record<string, number>): SectionRow {
  return { name, values, rounds: [values], spread: NaN };
}

async function benchSection<Result extends Record<keyof Result, number>>(
  title: string,
  columns: readonly Column[],
  all: readonly Contestant[],
  count: number,
  measure: (contestant: Contestant) => Promise<Result>,
): Promise<Section> {
  const failures = new Map<string, string>();
  const fail = ({ name }: Contestant, error: unknown) => void failures.set(name, describeFailure(error));
  const rounds: Rounds<Result> = await runRounds(all, count, measure, fail);
  const rows = [...rounds].map(([{ name }, results]): SectionRow => {
    const failure = failures.get(name);
    if (results.length === 0) return { ...rowOfOne(name, {}), failure };
    const first = results.map((result) => Object.values<number>(result)[0]);
    return { name, values: medianOf(results), rounds: results, spread: spread(first), failure };
  });
  return { title, columns, rows };
}

/** Returns an error's first line, for a table. */
export function describeFailure(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0].slice(0, 120);
}
