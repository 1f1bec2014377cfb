import { object, seq } from "@optique/core/constructs";
import { message, text } from "@optique/core/message";
import { map, multiple, optional } from "@optique/core/modifiers";
import { argument, flag, option } from "@optique/core/primitives";
import type { Parser } from "@optique/core/parser";
import type { OptionName } from "@optique/core/usage";
import { string } from "@optique/core/valueparser";
import type { Option, OptionTable } from "./options.ts";

/** Texts of the flags given on a command line, by the names of their table. */
export type FlagTexts = Readonly<Record<string, string | undefined>>;

/** A command-line parser made from a table of options. Values stay texts until `resolveOptions` checks them. */
export function createFlagParser(table: OptionTable): Parser<"sync", FlagTexts, unknown> {
  const parsers = Object.entries(table).map(([name, entry]) => [name, optional(createParser(entry))] as const);
  // The combinator takes its result type from a literal object, which a table is not.
  return object(Object.fromEntries(parsers)) as unknown as Parser<"sync", FlagTexts, unknown>;
}

function createParser(entry: Option<unknown>): Parser<"sync", string, unknown> {
  // The usage line names what has a short flag: all of them would fill a page before the list that explains them.
  const hidden = entry.short === undefined ? "usage" as const : false;
  const look = { description: message`${text(describe(entry))}`, hidden };
  const names: [OptionName, ...OptionName[]] = [asName(entry.flag)];
  if (entry.short !== undefined) names.unshift(asName(entry.short));
  const { bare } = entry;
  if (entry.metavar === undefined) return map(flag(...names, look), () => "true");
  // Checked to be non-empty, which is all that its type asks.
  const metavar = entry.metavar as `V${string}`;
  if (entry.isRepeatable) {
    return map(multiple(option(...names, string({ metavar }), look), { min: 1 }), (texts) => texts.join("\n"));
  }
  if (bare === undefined) return option(...names, string({ metavar }), look);
  const value = argument(string({ metavar, pattern: /^(?!-)/ }), { hidden: entry.short === undefined });
  const parser = map(seq(flag(...names, look), optional(value)), ([, given]) => given ?? bare);
  // Help would list flag and value as two, behind all others.
  const shown = option(...names, string({ metavar: `[${metavar}]` }), look);
  return { ...parser, getDocFragments: () => shown.getDocFragments({ kind: "unavailable" }) };
}

/** What help says of an option: its sentence, default and environment name. */
export function describe({ help, fallback, env, metavar }: Option<unknown>): string {
  const notes = [
    ...(metavar !== undefined && fallback !== "" ? [`default ${fallback}`] : []),
    ...(env !== undefined ? [env] : []),
  ];
  return notes.length === 0 ? help : `${help} (${notes.join(", ")})`;
}

function asName(name: string): OptionName {
  if (!/^--?[a-z]/.test(name)) throw new TypeError(`"${name}" is no flag`);
  return name as OptionName;
}

/**
 * Splits `-e3000`, `-e=3000`, `-p=` and `--local=8000` into flag and value, which people type and the parser refuses.
 * @param shorts the one-letter flags that take a value
 * @param table where the long flags are whose value may be left out
 */
export function splitValues(args: readonly string[], shorts: readonly string[], table: OptionTable): string[] {
  const longs = Object.values(table).filter(({ bare }) => bare !== undefined).map(({ flag }) => `${flag}=`);
  return args.flatMap((arg) => {
    const long = longs.find((start) => arg.startsWith(start));
    if (long !== undefined) return [long.slice(0, -1), arg.slice(long.length)];
    const name = arg.slice(0, 2);
    if (arg.length < 3 || !shorts.includes(name) || !/^-[a-z](=|\d)/.test(arg)) return [arg];
    return [name, arg.slice(arg[2] === "=" ? 3 : 2)];
  });
}
