import type { Option, OptionTable } from "../options.ts";
import { nameFlags } from "./parse_flags.ts";
import type { Command, Program } from "./types.ts";

/** How help may look. */
export interface HelpOptions {
  /** Characters a line has room for. */
  columns: number;
  color: boolean;
}

/** The heading of options that stand before any. */
const FIRST_HEADING = "Options";

/** Wider flags have a line of their own before what they do. */
const MAX_LEFT = 30;
const MIN_RIGHT = 24;

/** The page that `--help` shows of a command. */
export function renderHelp(program: Program, command: Command, table: OptionTable, options: HelpOptions): string {
  const heading = (text: string) => options.color ? `\x1b[1m${text}\x1b[0m` : text;
  const section = (title: string, rows: readonly Row[]) =>
    rows.length === 0 ? [] : [`${heading(`${title}:`)}\n${renderRows(rows, options.columns)}`];
  const full = `${program.name} ${command.name}`.trim();
  const others = command.name === "" ? program.commands.filter(({ name, isHidden }) => name !== "" && !isHidden) : [];
  return [
    command.name === "" ? program.about : `${full}: ${command.summary}`,
    `${heading("Usage:")} ${renderUsage(full, command, others.length > 0 ? program.name : null, options.columns)}`,
    ...section("Commands", others.map(({ name, summary }) => [name, summary])),
    ...groupOptions(table).flatMap(([title, group]) =>
      section(title, group.map((option) => [nameOption(option), describe(option)]))
    ),
    ...section("Examples", command.examples ?? []),
  ].join("\n\n") + "\n";
}

function renderUsage(
  full: string,
  { usage = "[options]", operands = [] }: Command,
  others: string | null,
  columns: number,
): string {
  const ways = usage.split("\n").map((line) => [full, ...operands, line].join(" "));
  if (others !== null) ways.push(`${others} COMMAND [options]`);
  const indent = " ".repeat("Usage: ".length);
  const width = Math.max(columns - indent.length - 2, MIN_RIGHT);
  // A flag and its value stay together.
  const parts = (way: string) => wrap(way.replace(/(-\S+) (?=[A-Z])/g, "$1\xa0"), width);
  return ways.map((way) => parts(way).join(`\n${indent}  `).replaceAll("\xa0", " ")).join(`\n${indent}`);
}

type Row = readonly [left: string, right: string];

/** Two columns, of which the right one is broken into lines. */
function renderRows(rows: readonly Row[], columns: number): string {
  const left = Math.min(MAX_LEFT, Math.max(...rows.map(([text]) => text.length)));
  const indent = left + 4;
  return rows.map(([text, does]) => {
    const lines = wrap(does, Math.max(columns - indent, MIN_RIGHT));
    // A left side that is too wide goes before.
    const start = text.length > left ? `  ${text}\n${" ".repeat(indent)}` : `  ${text.padEnd(left)}  `;
    return start + lines.join(`\n${" ".repeat(indent)}`);
  }).join("\n");
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line];
}

/** The options of a table under their headings, in its order. */
export function groupOptions(table: OptionTable): [heading: string, options: Option<unknown>[]][] {
  const groups: [string, Option<unknown>[]][] = [];
  for (const option of Object.values(table)) {
    const { heading } = option;
    if (heading !== undefined || groups.length === 0) groups.push([heading ?? FIRST_HEADING, []]);
    groups[groups.length - 1][1].push(option);
  }
  return groups;
}

/** An option with its value, `-e, --expose PORT`. */
export function nameOption(option: Option<unknown>): string {
  const { metavar, bare } = option;
  return [nameFlags(option), ...metavar === undefined ? [] : [bare === undefined ? metavar : `[${metavar}]`]].join(" ");
}

/** What help says of an option: its sentence, default and environment name. */
export function describe({ help, fallback, env, metavar, secret }: Option<unknown>): string {
  const notes = [
    ...(metavar !== undefined && fallback !== "" && !secret ? [`default ${fallback}`] : []),
    ...(env !== undefined ? [env] : []),
  ];
  return notes.length === 0 ? help : `${help} (${notes.join(", ")})`;
}
