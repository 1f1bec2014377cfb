import { boolean, type Option, OptionError, type OptionTable, REMOVED, removedError } from "../options.ts";
import { findClosest } from "../find_closest.ts";
import type { Arguments } from "./types.ts";

/**
 * Parses a command line. `--port 80`, `--port=80`, `-e 80`, `-e=80` and `-e80` mean the same. Short flags are taken
 * literally (`-fw` is one flag), and `--` ends the flags. A value that starts with a dash and a letter needs `=`, so
 * that a flag without its value does not take the next flag.
 * @throws OptionError for an unknown flag, a repeated flag or a missing value
 */
export function parseFlags(args: readonly string[], table: OptionTable): Arguments {
  const entries = new Map<string, [name: string, option: Option<unknown>]>();
  for (const [name, option] of Object.entries(table)) {
    for (const flag of flagsOf(option)) entries.set(flag, [name, option]);
  }
  const flags: Record<string, string> = {}, operands: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === "--") {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (!/^-./.test(arg)) {
      operands.push(arg);
      continue;
    }
    const [flag, attached] = splitFlag(arg, entries);
    const [name, option] = entries.get(flag) ?? failUnknown(flag, [...entries.keys()], table);
    const next = attached === undefined && takesNext(option, args[at + 1]) ? args[++at] : attached;
    const first = readText(option, next);
    const text = option.isPair ? `${first}\n${args[++at] ?? failPair(option)}` : first;
    flags[name] = joinTexts(flags[name], text, option);
  }
  return { flags, operands };
}

/** Returns an option's flags, the short one first. */
export function flagsOf({ flag, short }: Pick<Option<unknown>, "flag" | "short">): string[] {
  return short === undefined ? [flag] : [short, flag];
}

/** Returns `-e, --expose` for messages and help. */
export const nameFlags = (option: Option<unknown>): string => flagsOf(option).join(", ");

function fail(message: string): never {
  throw new OptionError(message);
}

const failPair = (option: Option<unknown>) => fail(`${nameFlags(option)}: it takes two values: ${option.metavar}`);

type Entries = ReadonlyMap<string, readonly [name: string, option: Option<unknown>]>;

/** Splits a flag from an attached value. */
function splitFlag(arg: string, entries: Entries): [flag: string, value?: string] {
  const equals = arg.indexOf("=");
  if (equals > 0) return [arg.slice(0, equals), arg.slice(equals + 1)];
  const short = arg.slice(0, 2);
  // A form such as -e3000, where no letter can be mistaken for another flag.
  const isNumber = /^-[a-z]\d/.test(arg) && entries.get(short)?.[1].metavar !== undefined;
  return isNumber ? [short, arg.slice(2)] : [arg];
}

function takesNext({ metavar, bare }: Option<unknown>, next: string | undefined): boolean {
  if (metavar === undefined || next === undefined) return false;
  return bare === undefined ? !/^-[-a-z]/i.test(next) : !next.startsWith("-");
}

function readText(option: Option<unknown>, given: string | undefined): string {
  if (option.metavar !== undefined) {
    return given ?? option.bare ?? fail(`${nameFlags(option)}: a value is missing: ${option.metavar}`);
  }
  if (given !== undefined && option.parse !== boolean) fail(`${nameFlags(option)}: it takes no value`);
  return given ?? "true";
}

function joinTexts(before: string | undefined, text: string, option: Option<unknown>): string {
  if (before === undefined) return text;
  return option.isRepeatable ? `${before}\n${text}` : fail(`${nameFlags(option)}: it is given twice`);
}

function failUnknown(flag: string, known: readonly string[], table: OptionTable): never {
  const removed = Object.values(table[REMOVED] ?? {}).find((option) => option.flag === flag);
  if (removed !== undefined) throw removedError(flag, removed);
  const closest = findClosest(flag, known);
  return fail(`there is no flag "${flag}"${closest === null ? "; --help shows all" : `: did you mean ${closest}?`}`);
}
