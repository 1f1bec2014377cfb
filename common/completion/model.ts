import { type Command, flagsOf, generalOptions, type Program } from "../command_line/mod.ts";
import { type Option, wordsOf } from "../options.ts";

/** What can stand where a value is wanted. */
export type Values =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "folders" }
  /** Names that are looked up when they are wanted, by `portway completion names <what>`. */
  | { readonly kind: "names"; readonly what: NameKind }
  | { readonly kind: "free" };

/** What has names that the server knows. */
export type NameKind = "tunnels" | "views";
/** All of {@link NameKind}, as `portway completion names` takes them. */
export const NAME_KINDS: readonly NameKind[] = ["tunnels", "views"];

/** A flag as shells complete it. */
export interface CompletedOption {
  /** The short flag first. */
  readonly flags: readonly string[];
  readonly help: string;
  /** What it takes; null for a switch. */
  readonly value: { readonly name: string; readonly isOptional: boolean; readonly values: Values } | null;
  readonly isRepeatable: boolean;
}

/** A command as shells complete it. */
export interface CompletedCommand {
  /** The words that ask for it; nothing for the program itself. */
  readonly name: string;
  readonly summary: string;
  readonly operands: readonly { readonly name: string; readonly values: Values }[];
  readonly options: readonly CompletedOption[];
}

/** What a shell is told of a program. */
export interface CompletionModel {
  readonly program: string;
  readonly commands: readonly CompletedCommand[];
}

/** What the tables of a program say for its completion. */
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

/** By the name that a value has in help; `a|b` are words. */
function valuesNamed(name: string): Values {
  if (name.includes("|")) return { kind: "words", words: name.split("|") };
  if (name === "FILE" || name === "PATH") return { kind: "files" };
  if (name === "FOLDER") return { kind: "folders" };
  if (name === "TUNNEL") return { kind: "names", what: "tunnels" };
  if (name === "VIEW") return { kind: "names", what: "views" };
  return { kind: "free" };
}

/** The first clause: shells show it in what is left of a line. */
const shorten = (help: string) => help.split(/; |, which | \(/)[0];

/** Names of what begins with the words of a command and has one more. */
export function followers({ commands }: CompletionModel, { name }: CompletedCommand): CompletedCommand[] {
  const depth = name === "" ? 0 : name.split(" ").length;
  return commands.filter((other) =>
    other.name !== "" && other.name.split(" ").length === depth + 1 &&
    (depth === 0 || other.name.startsWith(`${name} `))
  );
}

/** The last word of a command's name. */
export const lastWord = ({ name }: CompletedCommand): string => name.split(" ").at(-1) ?? "";
