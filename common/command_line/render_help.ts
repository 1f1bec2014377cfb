import type { Option, OptionTable } from "../options.ts";
import { nameFlags } from "./parse_flags.ts";
import type { Command, Program } from "./types.ts";

/** Layout options for help. */
export interface HelpOptions {
  /** Characters per line. */
  columns: number;
  color: boolean;
}

/** Heading for options before the first heading. */
const FIRST_HEADING = "Options";

/** Wider flags get their own line above the description. */
const MAX_LEFT = 30;
const MIN_RIGHT = 24;

/** Returns the `--help` text for a command. */
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
  // Keeps a flag and its value together.
  const parts = (way: string) => wrap(way.replace(/(-\S+) (?=[A-Z])/g, "$1\xa0"), width);
  return ways.map((way) => parts(way).join(`\n${indent}  `).replaceAll("\xa0", " ")).join(`\n${indent}`);
}

type Row = readonly [left: string, right: string];

/** Renders two columns and wraps the right one. */
function renderRows(rows: readonly Row[], columns: number): string {
  const left = Math.min(MAX_LEFT, Math.max(...rows.map(([text]) => text.length)));
  const indent = left + 4;
  return rows.map(([text, does]) => {
    const lines = wrap(does, Math.max(columns - indent, MIN_RIGHT));
    // A wide left side precedes its description.
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

/** Groups a table's options by heading, in table order. */
export function groupOptions(table: OptionTable): [heading: string, options: Option<unknown>[]][] {
  const groups: [string, Option<unknown>[]][] = [];
  for (const option of Object.values(table)) {
    const { heading } = option;
    if (heading !== undefined || groups.length === 0) groups.push([heading ?? FIRST_HEADING, []]);
    groups[groups.length - 1][1].push(option);
  }
  return groups;
}

/** Returns an option with its value, `-e, --expose PORT`. */
export function nameOption(option: Option<unknown>): string {
  const { metavar, bare } = option;
  return [nameFlags(option), ...metavar === undefined ? [] : [bare === undefined ? metavar : `[${metavar}]`]].join(" ");
}

/** Returns an option's help: sentence, default and environment variable. */
export function describe({ help, fallback, env, metavar, secret }: Option<unknown>): string {
  const notes = [
    ...(metavar !== undefined && fallback !== "" && !secret ? [`default ${fallback}`] : []),
    ...(env !== undefined ? [env] : []),
  ];
  return notes.length === 0 ? help : `${help} (${notes.join(", ")})`;
}
