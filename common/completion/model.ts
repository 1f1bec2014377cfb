import { type Command, flagsOf, generalOptions, type Program } from "../command_line/mod.ts";
import { type Option, wordsOf } from "../options.ts";

/** Possible values for an option or argument. */
export type Values =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "folders" }
  /** Names looked up on demand by `portway completion names <what>`. */
  | { readonly kind: "names"; readonly what: NameKind }
  | { readonly kind: "free" };

/** Kinds of names that the server knows. */
export type NameKind = "tunnels" | "views";
/** All {@link NameKind} values, for `portway completion names`. */
export const NAME_KINDS: readonly NameKind[] = ["tunnels", "views"];

/** A flag for completion. */
export interface CompletedOption {
  /** The short flag first. */
  readonly flags: readonly string[];
  readonly help: string;
  /** The flag's value; null for a switch. */
  readonly value: { readonly name: string; readonly isOptional: boolean; readonly values: Values } | null;
  readonly isRepeatable: boolean;
}

/** A command for completion. */
export interface CompletedCommand {
  /** Words that select the command; empty for the program itself. */
  readonly name: string;
  readonly summary: string;
  readonly operands: readonly { readonly name: string; readonly values: Values }[];
  readonly options: readonly CompletedOption[];
}

/** A program's structure for completion scripts. */
export interface CompletionModel {
  readonly program: string;
  readonly commands: readonly CompletedCommand[];
}

/** Creates the model from a program's tables. */
export async function createModel({ name, commands }: Program): Promise<CompletionModel> {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  return { program: name, commands: await Promise.all(shown.map(createCommand)) };
}

async function createCommand(command: Command): Promise<CompletedCommand> {
  const table = { ...await command.loadOptions(), ...generalOptions };
  return {
    name: command.name,
    summary: command.summary,
    operands: (command.operands ?? []).map((name) => ({ name, values: valuesNamed(name) })),
    options: Object.values(table).map(createOption),
  };
}

function createOption(option: Option<unknown>): CompletedOption {
  const { help, metavar, bare, isRepeatable = false } = option, words = wordsOf(option);
  const values: Values = words.length > 0 ? { kind: "words", words } : valuesNamed(metavar ?? "");
  return {
    flags: flagsOf(option),
    help: shorten(help),
    value: metavar === undefined ? null : { name: metavar, isOptional: bare !== undefined, values },
    isRepeatable,
  };
}

/** Chooses values by the name in help; `a|b` lists words. */
function valuesNamed(name: string): Values {
  if (name.includes("|")) return { kind: "words", words: name.split("|") };
  if (name === "FILE" || name === "PATH") return { kind: "files" };
  if (name === "FOLDER") return { kind: "folders" };
  if (name === "TUNNEL") return { kind: "names", what: "tunnels" };
  if (name === "VIEW") return { kind: "names", what: "views" };
  return { kind: "free" };
}

/** Returns the first clause, because shells have little space. */
const shorten = (help: string) => help.split(/; |, which | \(/)[0];

/** Returns the words that can follow a command's words. */
export function followers({ commands }: CompletionModel, { name }: CompletedCommand): CompletedCommand[] {
  const depth = name === "" ? 0 : name.split(" ").length;
  return commands.filter((other) =>
    other.name !== "" && other.name.split(" ").length === depth + 1 &&
    (depth === 0 || other.name.startsWith(`${name} `))
  );
}

/** Returns the last word in a command's name. */
export const lastWord = ({ name }: CompletedCommand): string => name.split(" ").at(-1) ?? "";
