import { statSync } from "node:fs";

/**
 * Options declared once: flag, environment name, default, check and help. A program keeps one table of them;
 * parsing, `--help` and docs/reference/configuration.md are made from it.
 */
export interface Option<T> {
  /** Begins a group in help and docs, which the options behind it belong to as well. */
  readonly heading?: string;
  /** Long flag, e.g. `--port`. */
  readonly flag: string;
  /** Short flag, e.g. `-e`. */
  readonly short?: string;
  /** The text that stands for the flag alone, for a value that may be left out. */
  readonly bare?: string;
  /** Environment variable that stands in for the flag, e.g. `PORTWAY_PORT`. */
  readonly env?: string;
  /** Name of the value in help, e.g. `PORT`; left out for a switch. */
  readonly metavar?: string;
  /** A second value follows the first one; its text has a line for each. */
  readonly isPair?: boolean;
  /** Text to value. Throws `RangeError` or `SyntaxError` whose message says what is wanted. */
  readonly parse: (text: string) => T;
  /** The text that stands for the value when neither flag nor environment gives one. */
  readonly fallback: string;
  readonly help: string;
  /** May be given several times; its text has a line for each. */
  readonly isRepeatable?: boolean;
  /** Never shown with its value. */
  readonly secret?: boolean;
  /** Refuse an empty text that was given: it must not pass for none, as where a variable it came from is not set. */
  readonly refuseEmpty?: boolean;
}

/** An option of earlier releases. Its flag, its variable and its name are errors that name the successor. */
export interface RemovedOption {
  readonly flag: string;
  readonly env?: string;
  /** The rest of a sentence, for instance `use --max-streams, which limits upgrades too`. */
  readonly instead: string;
}

/** The key of a table's removed options, by their names. A symbol, so that help and docs leave them out. */
export const REMOVED: unique symbol = Symbol("removed options");

/** The options of a program or command, by the names that its code knows them by. */
export type OptionTable = Readonly<Record<string, Option<unknown>>> & {
  readonly [REMOVED]?: Readonly<Record<string, RemovedOption>>;
};
/** The values that {@link resolveOptions} makes of a table. */
export type OptionValues<T extends OptionTable> = {
  -readonly [K in keyof T & string]: T[K] extends Option<infer V> ? V : never;
};

/** A value that was given and cannot be used. The message names where it came from. */
export class OptionError extends Error {
  override name = "OptionError";
}

/**
 * Values of a table: the flag's text where given, else the environment's, else the default.
 * @throws OptionError naming the flag or variable whose value is refused.
 */
export function resolveOptions<T extends OptionTable>(table: T, sources: OptionSources): OptionValues<T> {
  const values: Record<string, unknown> = {}, origins: Record<string, string> = {};
  for (const removed of Object.values(table[REMOVED] ?? {})) {
    if (removed.env !== undefined && sources.env[removed.env]) throw removedError(removed.env, removed);
  }
  for (const [name, option] of Object.entries(table)) {
    const flagText = sources.flags[name];
    const variable = option.env === undefined ? undefined : sources.env[option.env];
    // Empty is how container files say "not set".
    const envText = variable === "" && !option.refuseEmpty ? undefined : variable;
    const [text, origin] = flagText !== undefined
      ? [flagText, option.short === undefined ? option.flag : `${option.short}, ${option.flag}`]
      : envText !== undefined
      ? [envText, option.env]
      : [option.fallback, "default"];
    if (option.refuseEmpty && text === "" && origin !== "default") throw new OptionError(`${origin}: it is empty`);
    values[name] = parseOption(option, text, origin ?? option.flag);
    if (envText !== undefined && flagText === undefined) origins[name] = option.env ?? option.flag;
  }
  variablesOf.set(values, origins);
  return values as OptionValues<T>;
}

/** The error for a removed option. @param given the flag, variable or name that was used */
export function removedError(given: string, { instead }: RemovedOption): OptionError {
  return new OptionError(`${given}: this option was removed; ${instead}`);
}

/** The variables that resolved values came from, by the values' names. Beside the values, which are plain data. */
const variablesOf = new WeakMap<object, Readonly<Record<string, string>>>();

/**
 * What to call the option behind a value that turns out to be of no use only later, as when a file is opened: the
 * variable it came from, else its flag.
 */
export function nameSource<N extends string>(
  table: Readonly<Record<N, Option<unknown>>>,
  values: Readonly<Record<N, unknown>>,
  name: N,
): string {
  return variablesOf.get(values)?.[name] ?? table[name].flag;
}

/** Where values come from. Flags win over the environment. */
export interface OptionSources {
  /** Texts given as flags, by the table's names. */
  flags: Readonly<Record<string, string | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * The value that a text means.
 * @param origin what the text came from, for the message
 * @throws OptionError naming the origin, and what is wanted; a secret's text is not in it
 */
export function parseOption<T>(option: Option<T>, text: string, origin: string): T {
  try {
    return option.parse(text);
  } catch (cause) {
    const shown = option.secret ? "its value" : JSON.stringify(text);
    throw new OptionError(`${origin}: cannot use ${shown}: ${(cause as Error).message}`, { cause });
  }
}

/** A whole number within bounds, both included. */
export function integer(min: number, max: number): ((text: string) => number) & { readonly bounds: Bounds } {
  const parse = (text: string) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new RangeError(`a whole number from ${min} to ${max} is wanted`);
    return value;
  };
  return Object.assign(parse, { bounds: { min, max } });
}

/** What a whole number lies within, both included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** The bounds of an option that is an {@link integer}, else null. */
export function boundsOf({ parse }: Option<unknown>): Bounds | null {
  return "bounds" in parse ? parse.bounds as Bounds : null;
}

/** One of some words. They can be asked of it, for help and completion. */
export function choice<T extends string>(
  ...words: readonly T[]
): ((text: string) => T) & { readonly words: readonly T[] } {
  const parse = (text: string) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new RangeError(`one of ${words.join(", ")} is wanted`);
    return found;
  };
  return Object.assign(parse, { words });
}

/** The words that an option takes, where they are a {@link choice}. */
export function wordsOf({ parse }: Option<unknown>): readonly string[] {
  const words: unknown = "words" in parse ? parse.words : null;
  return Array.isArray(words) ? words : [];
}

/** A switch: `true` or `false`. */
export const boolean = (text: string): boolean => choice("true", "false", "1", "0")(text).match(/true|1/) !== null;

/** Any text. */
export const text = (value: string): string => value;

/** Text, or null when empty. */
export const optionalText = (value: string): string | null => value === "" ? null : value;

/** A domain name of at most 189 characters, in lower case, without port and trailing dot; null when empty. */
export function optionalDomain(value: string): string | null {
  if (value === "") return null;
  const name = value.toLowerCase();
  const isName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
  if (!isName || name.length > MAX_DOMAIN) throw new SyntaxError("a domain such as try.example.com is wanted");
  return name;
}

/** RFC 1035, section 2.3.4, less a label of its own and a dot. */
const MAX_DOMAIN = 253 - 64;

/** Words separated by commas, white space around them dropped; empty text is an empty list. */
export const list = (value: string): string[] =>
  value.split(",").map((word) => word.trim()).filter((word) => word !== "");

/** An http or https URL without path, query, fragment or credentials, e.g. `https://tunnel.example.com`. */
export function origin(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new SyntaxError("an http:// or https:// URL is wanted");
  if (url.pathname !== "/" || url.search || url.hash || url.username || url.password) {
    throw new SyntaxError("only scheme, host and port are wanted");
  }
  return url;
}

/** {@link origin}, or null when empty. */
export const optionalOrigin = (value: string): URL | null => value === "" ? null : origin(value);

/** Where a program listens. */
export interface ListenAddress {
  hostname: string;
  port: number;
}

/** `127.0.0.1:9090` or `[::1]:9090`, a port alone for this machine only, null when empty; port 0 takes a free one. */
export function optionalListenAddress(value: string): ListenAddress | null {
  if (value === "") return null;
  const parts = /^(?:(?:\[([\da-f:.]+)\]|([^:[\]]+)):)?(\d{1,5})$/i.exec(value);
  if (parts === null) throw new SyntaxError("a port or an address with a port, such as 127.0.0.1:9090, is wanted");
  return { hostname: parts[1] ?? parts[2] ?? "127.0.0.1", port: integer(0, 65535)(parts[3]) };
}

/** The URL of a PostgreSQL, or null when empty. What it says is checked where it is used. */
export function optionalDatabaseUrl(value: string): string | null {
  if (value === "") return null;
  if (!URL.canParse(value) || !/^postgres(ql)?:\/\//.test(value)) throw new SyntaxError("a postgres:// URL is wanted");
  return value;
}

/**
 * Origins of pages as browsers write them in `Origin`, separated by commas: of any scheme (extensions and apps have
 * their own), without a port that goes without saying. `*` and `null` stay as they are.
 */
export const pageOrigins = (value: string): string[] => list(value).map(pageOrigin);

function pageOrigin(word: string): string {
  if (word === "*" || word === "null") return word;
  const url = URL.parse(word);
  if (url !== null && /^https?:\/\/[^/?#@*\\]+\/?$/i.test(word)) return url.origin;
  if (url !== null && /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[\w.-]+(:\d+)?$/i.test(word)) return word.toLowerCase();
  throw new SyntaxError(`"${word}" is no origin such as https://app.example`);
}

/** The path of a folder that is there, or null when empty. */
export function optionalFolder(path: string): string | null {
  if (path === "") return null;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new RangeError("there is no such folder");
  if (!stats.isDirectory()) throw new RangeError("it is no folder");
  return path;
}
