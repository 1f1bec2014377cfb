/**
 * `deno task bench:peers`: compares Portway with other tunnels in one run, and writes docs/explanation/benchmarks.md.
 *
 *     --floor <folder>   include a floor (see bench/main.ts)
 *     --minutes <n>      approximate duration; 12 by default
 *     --rounds <n>       rounds in turn; 3 by default
 *     --install          first install missing peers into bench/.cache, which takes time
 *     --idle <n>         idle tunnels in the larger count; 3000 by default, 0 skips both counts
 *     --output <file>    docs/explanation/benchmarks.md by default
 *
 * Peers are programs in the folder `PORTWAY_PEERS`, in bench/.cache or on PATH. No peer is built from source here.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { chooseLoad } from "../load/mod.ts";
import { readOptions } from "../options.ts";
import { startDirect } from "../programs/direct.ts";
import { createFloor } from "../programs/floor.ts";
import { DENO, ROOT, startService } from "../programs/helpers.ts";
import { HEAP_FLAGS, startPortway } from "../programs/portway.ts";
import { startIdlePortway } from "../programs/portway_idle.ts";
import { runProgram } from "../programs/process.ts";
import type { Contestant, StartContestant } from "../programs/types.ts";
import { formatGoals } from "../report/goals.ts";
import { measureIdleTunnels } from "../workloads/idle.ts";
import { profileTunnel } from "../workloads/profile.ts";
import { findCrate, peerPath } from "./find.ts";
import { createGoals } from "./goals.ts";
import { formatReport, OURS } from "./report.ts";
import {
  benchBulk,
  benchDelay,
  benchEcho,
  benchFirstByte,
  benchRequests,
  benchTls,
  describeFailure,
  rowOfOne,
  type RowOptions,
  type Section,
  type SectionRow,
} from "./rows.ts";
import { findTunnels } from "./tunnels.ts";
import { startOverTls } from "./tls.ts";
import type { MissingPeer, Peer } from "./types.ts";

/** Crates that bench/files.ts looks for. */
const FILE_SERVERS = ["dufs", "miniserve"];
/** Share of the time for request rows, and their number. */
const REQUESTS_SHARE = 0.5;
const REQUEST_ROWS = 7;
const IDLE_TUNNELS = 1000;
/** Benchmarks for other areas, which print Markdown. Missing files are skipped. */
const OTHERS = [
  { title: "The proxy beside cors-anywhere", file: "bench/proxy.ts", takesSeconds: true },
  { title: "The file server beside dufs and miniserve", file: "bench/files.ts", takesSeconds: false },
];

const note = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const values = readOptions({
    floor: { type: "string" },
    minutes: { type: "string", default: "12" },
    rounds: { type: "string", default: "3" },
    install: { type: "boolean", default: false },
    idle: { type: "string", default: "3000" },
    output: { type: "string", default: join(ROOT, "docs/explanation/benchmarks.md") },
  });
  const found = await findTunnels({ install: values.install });
  for (const crate of FILE_SERVERS) await findCrate(crate, crate, { install: values.install });
  const peers = found.filter((peer): peer is Peer => "start" in peer);
  const missing = found.filter((peer): peer is MissingPeer => "missing" in peer);
  const starts = new Map<string, StartContestant>([[OURS, startPortway]]);
  if (values.floor !== undefined) starts.set("floor", createFloor(values.floor));
  for (const { name, start } of peers) starts.set(name, start);

  const started = performance.now();
  const load = await chooseLoad(), rounds = Number(values.rounds);
  const seconds = Math.max(1, Number(values.minutes) * 60 * REQUESTS_SHARE / REQUEST_ROWS / (starts.size + 1) / rounds);
  // wrk accepts whole seconds only.
  const options: RowOptions = { generate: load.generate, rounds, seconds: Math.floor(seconds) };
  const service = await startService();
  const sections = await benchTunnels(starts, service.port, options, missing);
  note("sessions over TLS");
  const overTls = await startOverTls(service.port);
  sections.push(await benchTls(overTls, options));
  for (const contestant of overTls) await contestant.stop();
  note("over 50 ms of round trip");
  sections.push(await benchDelay(starts, service.port));
  sections.push(...await benchIdle(Number(values.idle), peers));
  note("profile");
  const profiles = await profileTunnel(service.port, load.generate, 4);
  await service.stop();
  const extras = await runOthers(options.seconds);
  const goals = createGoals(sections);
  const report = formatReport({
    command: `deno task bench:peers ${hideFolders(process.argv.slice(2)).join(" ")}`.trim(),
    load: load.name,
    rounds,
    seconds: options.seconds,
    minutes: (performance.now() - started) / 60_000,
    peers: peers.filter(({ name }) => missing.every((peer) => peer.name !== name)),
    missing,
    commands: [
      "deno task start --port 0 --json --data-dir <folder>` with the limits of traffic and of tunnels lifted, and `" +
      `deno run -A ${HEAP_FLAGS} cli.ts -e <service> --server http://127.0.0.1:<port>`,
    ],
    sections,
    goals,
    profiles,
    extras,
  });
  writeFileSync(values.output, report);
  await runProgram(DENO, ["fmt", values.output], { cwd: ROOT });
  process.stdout.write(formatGoals(goals));
}

/**
 * Measures small responses first. Bodies and streams follow with restarted programs, so that their memory can be read.
 */
async function benchTunnels(
  starts: ReadonlyMap<string, StartContestant>,
  service: number,
  options: RowOptions,
  missing: MissingPeer[],
): Promise<Section[]> {
  const all = new Map([...starts, ["direct", startDirect] as const]);
  const sections = await benchTogether(all, service, missing, async (contestants) => {
    note(`requests: ${contestants.map(({ name }) => name).join(", ")}`);
    return await benchRequests(contestants, options);
  });
  for (const { name } of missing) all.delete(name);
  const more = await benchTogether(all, service, missing, async (contestants) => {
    note("bodies");
    const bulk = await benchBulk(contestants, options);
    note("streams and WebSockets");
    return [...bulk, await benchFirstByte(contestants, options), await benchEcho(contestants, options)];
  });
  return [...sections, ...more];
}

/** Starts all contestants once and gives each workload to all in turn. */
async function benchTogether(
  starts: ReadonlyMap<string, StartContestant>,
  service: number,
  missing: MissingPeer[],
  bench: (contestants: readonly Contestant[]) => Promise<Section[]>,
): Promise<Section[]> {
  const contestants: Contestant[] = [];
  for (const [name, start] of starts) {
    try {
      contestants.push(await start({ service }));
    } catch (error) {
      missing.push({ name, missing: describeFailure(error) });
    }
  }
  try {
    return await bench(contestants);
  } finally {
    for (const contestant of contestants) await contestant.stop();
  }
}

async function benchIdle(many: number, peers: readonly Peer[]): Promise<Section[]> {
  const columns = [
    { key: "relayKb", title: "relay kB each" },
    { key: "clientsKb", title: "clients kB each" },
    { key: "perSecond", title: "opened per s" },
  ];
  const starts = new Map([[OURS, startIdlePortway]]);
  for (const { name, startIdle } of peers) if (startIdle !== undefined) starts.set(name, startIdle);
  const sections: Section[] = [];
  for (const count of many === 0 ? [] : [IDLE_TUNNELS, many]) {
    note(`${count} idle tunnels`);
    const rows: SectionRow[] = [];
    for (const [name, result] of await measureIdleTunnels(starts, count)) {
      if (result instanceof Error) rows.push({ ...rowOfOne(name, {}), failure: describeFailure(result) });
      else {
        const { relayBytes, clientBytes, perSecond } = result;
        rows.push(rowOfOne(name, { relayKb: relayBytes / 1000, clientsKb: clientBytes / 1000, perSecond }));
      }
    }
    sections.push({ title: `${count} idle tunnels`, columns, rows });
  }
  return sections;
}

async function runOthers(seconds: number): Promise<{ title: string; text: string }[]> {
  const extras: { title: string; text: string }[] = [];
  // Both look for their peers on PATH.
  const env = { PATH: peerPath() };
  for (const { title, file, takesSeconds } of OTHERS) {
    if (!existsSync(join(ROOT, file))) continue;
    note(file);
    const flags = takesSeconds ? ["--seconds", String(seconds)] : [];
    const text = await runProgram(DENO, ["run", "-A", file, ...flags], { cwd: ROOT, env });
    extras.push({ title, text: text ?? `\`deno run -A ${file}\` failed.` });
  }
  return extras;
}

/** Folder names on this machine do not help a reader. */
function hideFolders(args: readonly string[]): string[] {
  return args.map((arg) => arg.startsWith("/") ? "<folder>" : arg);
}

await main();
process.exit(0);
