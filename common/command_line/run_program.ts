import process from "node:process";
import { printable } from "../format.ts";
import { boolean, optionalText, OptionError, type OptionTable } from "../options.ts";
import { writeText } from "../output/mod.ts";
import { tuneV8 } from "../platform/mod.ts";
import { RELEASE } from "../release.ts";
import { findClosest } from "../find_closest.ts";
import { parseFlags } from "./parse_flags.ts";
import { renderHelp } from "./render_help.ts";
import type { Arguments, Command, Program } from "./types.ts";

/** Exit code for an invalid command line. */
const USAGE_ERROR = 2;

/** Options for every command. */
export const generalOptions = {
  configFile: {
    heading: "Help",
    flag: "--config",
    env: "PORTWAY_CONFIG",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: 'JSON file of options by their names, as in { "port": 8787 }; flags and variables go before it',
  },
  help: { flag: "--help", short: "-h", parse: boolean, fallback: "false", help: "show this" },
  version: { flag: "--version", parse: boolean, fallback: "false", help: "show the version" },
} satisfies OptionTable;

/**
 * Runs a command.
 * @param args the command line without the program's name
 * @returns the exit code: 0, 2 for wrong usage, 1 for other failures, with one line on standard error
 */
export async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  try {
    return await runCommand(program, args);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await writeText(process.stderr, `portway: ${printable(message)}\n`);
    return error instanceof OptionError ? USAGE_ERROR : 1;
  }
}

async function runCommand(program: Program, args: readonly string[]): Promise<number> {
  if (args[0] === "--version") return await show(`${RELEASE}\n`);
  const [command, rest] = findCommand(program, args);
  const table = { ...await command.loadOptions(), ...generalOptions };
  // Help takes precedence over other errors in the line.
  if (asksForHelp(rest) || (command.needsArguments && rest.length === 0)) {
    return await show(renderHelp(program, command, table, readTerminal()));
  }
  const parsed = parseFlags(rest, table);
  if (parsed.flags.version !== undefined) return await show(`${RELEASE}\n`);
  checkOperands(program, command, parsed);
  tuneV8();
  const { loadConfigFile } = await import("./config_file.ts");
  return await command.run({ ...parsed, flags: loadConfigFile(table, parsed.flags, process.env) });
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const flags = end < 0 ? args : args.slice(0, end);
  return flags.some((flag) => /^(?:--help|-h)(?:=|$)/.test(flag));
}

/** Finds the command with the longest matching name, and returns it with the remaining arguments. */
function findCommand({ commands }: Program, args: readonly string[]): [Command, readonly string[]] {
  let found: [Command, readonly string[]] | null = null, most = -1;
  for (const command of commands) {
    const words = command.name === "" ? [] : command.name.split(" ");
    if (words.length <= most || words.some((word, at) => word !== args[at])) continue;
    most = words.length;
    found = [command, args.slice(most)];
  }
  if (found === null) throw new OptionError(`a command is missing: --help shows all`);
  return found;
}

function checkOperands({ name, commands }: Program, command: Command, { operands }: Arguments): void {
  const wanted = command.operands ?? [];
  if (operands.length < wanted.length) throw new OptionError(`${wanted[operands.length]} is missing: --help shows how`);
  const extra = operands[wanted.length];
  if (extra === undefined) return;
  const known = commands.filter(({ isHidden }) => !isHidden).map((other) => other.name);
  const closest = findClosest([command.name, extra].join(" ").trim(), known);
  const isPort = command.name === "" && /^\d{1,5}$/.test(extra);
  const meant = isPort ? `-e ${extra}` : closest;
  const hint = meant === null ? "--help shows what can" : `did you mean ${name} ${meant}?`;
  throw new OptionError(`"${extra}" cannot stand here: ${hint}`);
}

function readTerminal(): { columns: number; color: boolean } {
  const { isTTY, columns } = process.stdout;
  return { columns: Math.min(columns || PLAIN_COLUMNS, MAX_COLUMNS), color: isTTY === true && !process.env.NO_COLOR };
}

/** Width without a terminal, or when it reports none. */
const PLAIN_COLUMNS = 80;
/** Longer lines are hard to read. */
const MAX_COLUMNS = 100;

async function show(text: string): Promise<number> {
  await writeText(process.stdout, text);
  return 0;
}
