import { arch, cpus, release, totalmem, type as systemName } from "node:os";
import process from "node:process";
import { MAX_STOLEN, MAX_TRIES } from "../measure/rounds.ts";
import { ratioOf } from "../measure/stats.ts";
import type { Profiles } from "../workloads/profile.ts";
import { formatGoals, type Goal } from "../report/goals.ts";
import { formatNumber, formatTable } from "../report/table.ts";
import type { Section, SectionRow } from "./rows.ts";
import type { MissingPeer, Peer } from "./types.ts";

/** Name for our row. */
export const OURS = "portway";

export interface Report {
  /** Arguments for the harness. */
  command: string;
  load: string;
  rounds: number;
  seconds: number;
  minutes: number;
  peers: readonly Peer[];
  missing: readonly MissingPeer[];
  /** Start commands for our programs. */
  commands: readonly string[];
  sections: readonly Section[];
  goals: readonly Goal[];
  profiles: Profiles | null;
  /** Tables from other benchmarks in the same run, as printed. */
  extras: readonly { title: string; text: string }[];
}

const STOLEN = `${100 * MAX_STOLEN} %`;

/** Returns the text for docs/explanation/benchmarks.md. */
export function formatReport(report: Report): string {
  return [
    "# Benchmarks",
    "Written by `deno task bench:peers` from one run on one machine: every figure below was measured in that run. " +
    "All programs, the load generator and the local service share the machine, so requests per second say less than " +
    "ratios and CPU time do. Contestants take turns, each round in another order; a figure is the median of the " +
    "rounds, the spread half the range of the first column. A ratio is ours divided by theirs, the median of the " +
    `rounds, and ± behind a target its standard error. Where the host of a virtual machine took more than ${STOLEN} ` +
    `of its processors meanwhile the least disturbed of up to ${MAX_TRIES} measurements counts. Where the spread is ` +
    "above 25 %, something else had the machine, and the row says little.",
    formatSetting(report),
    "## Targets",
    formatGoals(report.goals),
    "## Figures",
    ...report.sections.flatMap((section) => [`### ${capitalize(section.title)}`, formatSection(section)]),
    ...report.extras.flatMap(({ title, text }) => [`### ${title}`, text.trim()]),
    ...formatProfiles(report.profiles),
  ].join("\n\n").replace(/\n{3,}/g, "\n\n").trimEnd() + "\n";
}

function formatSetting(report: Report): string {
  const [cpu] = cpus();
  const lines = [
    `- Machine: ${cpus().length} × ${cpu?.model.trim() ?? "unknown"}, ${formatNumber(totalmem() / 2 ** 30)} GiB, ` +
    `${systemName()} ${release()} ${arch()}`,
    `- Deno ${process.versions.deno}; load by ${report.load}; ${report.rounds} rounds of ` +
    `${formatNumber(report.seconds)} s; the whole run took ${formatNumber(report.minutes)} minutes`,
    `- Run by \`${report.command}\``,
    ...report.commands.map((command) => `- \`${command}\``),
  ];
  const rows = report.peers.map(({ name, version, about, commands }) => [
    name,
    version,
    about,
    commands.map((command) => `\`${command}\``).join("; "),
  ]);
  const missing = report.missing.map(({ name, missing }) => [name, "not measured", missing, ""]);
  return `${lines.join("\n")}\n\n${
    formatTable(["peer", "version", "what it is", "started by"], [...rows, ...missing])
  }`;
}

/** Returns a section as a table. The ratio refers to its first column. */
function formatSection({ columns, rows }: Section): string {
  const [first] = columns;
  const figures = (row: SectionRow | undefined) => row?.rounds.map((round) => round[first.key]) ?? [];
  const ours = figures(rows.find(({ name }) => name === OURS));
  const texts = rows.map((row) => [
    row.name,
    ...columns.map(({ key }) => formatNumber(row.values[key] ?? NaN)),
    Number.isFinite(row.spread) ? `± ${Math.round(row.spread * 100)} %` : "–",
    row.name === OURS ? "–" : formatNumber(ratioOf(ours, figures(row)).value),
  ]);
  const failures = rows.filter(({ failure }) => failure !== undefined).map(({ name, failure }) =>
    `${name}: ${failure}.`
  );
  const table = formatTable(["", ...columns.map(({ title }) => title), "spread", "ours/theirs"], texts);
  return [table, ...failures].join("\n");
}

const SHOWN_COSTS = 20;

function formatProfiles(profiles: Profiles | null): string[] {
  if (profiles === null) return [];
  const table = (costs: Profiles["relay"]) =>
    formatTable(
      ["function", "share of busy time"],
      costs.slice(0, SHOWN_COSTS).map((
        { where, share },
      ) => [where.replaceAll("|", "\\|"), `${(share * 100).toFixed(1)} %`]),
    );
  return [
    "## Where the time goes",
    "Functions of the JavaScript thread by their own time, 12-byte answers at 128 connections, plain heads. `op_write`, " +
    "`op_read` and other `op_` functions are the runtime and the system calls below it.",
    "### Relay",
    table(profiles.relay),
    "### Client",
    table(profiles.client),
  ];
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
