import { statSync } from "node:fs";

/**
 * An option, declared once: flag, environment variable, default, check and help. Parsing, `--help` and
 * docs/reference/configuration.md use the same table.
 */
export interface Option<T> {
  /** Starts a group in help and docs, which includes the following options. */
  readonly heading?: string;
  /** Long flag, for example `--port`. */
  readonly flag: string;
  /** Short flag, for example `-e`. */
  readonly short?: string;
  /** Text for a flag without its optional value. */
  readonly bare?: string;
  /** Environment variable for the option, for example `PORTWAY_PORT`. */
  readonly env?: string;
  /** Value name in help, for example `PORT`; left out for a switch. */
  readonly metavar?: string;
  /** The option takes two values; its text has one line for each. */
  readonly isPair?: boolean;
  /** Converts text to a value. Throws `RangeError` or `SyntaxError` with the expected form. */
  readonly parse: (text: string) => T;
  /** Text for the default value. */
  readonly fallback: string;
  readonly help: string;
  /** The flag can be repeated; its text has one line for each. */
  readonly isRepeatable?: boolean;
  /** Messages never show the value. */
  readonly secret?: boolean;
  /** Refuses an empty text, which can come from an unset variable and must not mean "none". */
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

/** A program's or command's options by name. */
export type OptionTable = Readonly<Record<string, Option<unknown>>> & {
  readonly [REMOVED]?: Readonly<Record<string, RemovedOption>>;
};
/** Values from {@link resolveOptions} for a table. */
export type OptionValues<T extends OptionTable> = {
  -readonly [K in keyof T & string]: T[K] extends Option<infer V> ? V : never;
};

/** An invalid value. The message names its origin. */
export class OptionError extends Error {
  override name = "OptionError";
}

/**
 * Resolves a table's values: from the flag, else the environment, else the default.
 * @throws OptionError with the flag or variable for an invalid value
 */
export function resolveOptions<T extends OptionTable>(table: T, sources: OptionSources): OptionValues<T> {
  const values: Record<string, unknown> = {}, origins: Record<string, string> = {};
  for (const removed of Object.values(table[REMOVED] ?? {})) {
    if (removed.env !== undefined && sources.env[removed.env]) throw removedError(removed.env, removed);
  }
  for (const [name, option] of Object.entries(table)) {
    const flagText = sources.flags[name];
    const variable = option.env === undefined ? undefined : sources.env[option.env];
    // Container files use an empty value for "not set".
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

/** Variables behind resolved values, by name. Kept apart, because values are plain data. */
const variablesOf = new WeakMap<object, Readonly<Record<string, string>>>();

/** Returns the origin for a value that fails later, for example when a file is opened: its variable, else its flag. */
export function nameSource<N extends string>(
  table: Readonly<Record<N, Option<unknown>>>,
  values: Readonly<Record<N, unknown>>,
  name: N,
): string {
  return variablesOf.get(values)?.[name] ?? table[name].flag;
}

/** Value sources. Flags override the environment. */
export interface OptionSources {
  /** Flag texts by option name. */
  flags: Readonly<Record<string, string | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Parses one text.
 * @param origin source of the text, for the message
 * @throws OptionError with the origin and the expected form; never with a secret
 */
export function parseOption<T>(option: Option<T>, text: string, origin: string): T {
  try {
    return option.parse(text);
  } catch (cause) {
    const shown = option.secret ? "its value" : JSON.stringify(text);
    throw new OptionError(`${origin}: cannot use ${shown}: ${(cause as Error).message}`, { cause });
  }
}

/** Parses a whole number within inclusive bounds. */
export function integer(min: number, max: number): ((text: string) => number) & { readonly bounds: Bounds } {
  const parse = (text: string) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new RangeError(`a whole number from ${min} to ${max} is wanted`);
    return value;
  };
  return Object.assign(parse, { bounds: { min, max } });
}

/** Inclusive bounds for a whole number. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Returns the bounds for an {@link integer} option, else null. */
export function boundsOf({ parse }: Option<unknown>): Bounds | null {
  return "bounds" in parse ? parse.bounds as Bounds : null;
}

/** Parses one of several words. Help and completion can list them. */
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

/** Returns the words for a {@link choice} option. */
export function wordsOf({ parse }: Option<unknown>): readonly string[] {
  const words: unknown = "words" in parse ? parse.words : null;
  return Array.isArray(words) ? words : [];
}

/** Parses a switch: `true` or `false`. */
export const boolean = (text: string): boolean => choice("true", "false", "1", "0")(text).match(/true|1/) !== null;

/** Accepts any text. */
export const text = (value: string): string => value;

/** Accepts any text; null when empty. */
export const optionalText = (value: string): string | null => value === "" ? null : value;

/** Parses a domain name in lower case with at most 189 characters, without port and trailing dot; null when empty. */
export function optionalDomain(value: string): string | null {
  if (value === "") return null;
  const name = value.toLowerCase();
  const isName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
  if (!isName || name.length > MAX_DOMAIN) throw new SyntaxError("a domain such as try.example.com is wanted");
  return name;
}

/** RFC 1035, section 2.3.4, minus one label and a dot. */
const MAX_DOMAIN = 253 - 64;

/** Parses comma-separated words without surrounding white space; empty text is an empty list. */
export const list = (value: string): string[] =>
  value.split(",").map((word) => word.trim()).filter((word) => word !== "");

/**
 * Parses an http or https URL without path, query, fragment and credentials, for example `https://tunnel.example.com`.
 */
export function origin(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new SyntaxError("an http:// or https:// URL is wanted");
  if (url.pathname !== "/" || url.search || url.hash || url.username || url.password) {
    throw new SyntaxError("only scheme, host and port are wanted");
  }
  return url;
}

/** Parses an {@link origin}; null when empty. */
export const optionalOrigin = (value: string): URL | null => value === "" ? null : origin(value);

/** An address to listen on. */
export interface ListenAddress {
  hostname: string;
  port: number;
}

/**
 * Parses `127.0.0.1:9090` or `[::1]:9090`, or a port for this machine only; null when empty. Port 0 selects a free
 * port.
 */
export function optionalListenAddress(value: string): ListenAddress | null {
  if (value === "") return null;
  const parts = /^(?:(?:\[([\da-f:.]+)\]|([^:[\]]+)):)?(\d{1,5})$/i.exec(value);
  if (parts === null) throw new SyntaxError("a port or an address with a port, such as 127.0.0.1:9090, is wanted");
  return { hostname: parts[1] ?? parts[2] ?? "127.0.0.1", port: integer(0, 65535)(parts[3]) };
}

/** Parses a PostgreSQL URL; null when empty. The store checks its content. */
export function optionalDatabaseUrl(value: string): string | null {
  if (value === "") return null;
  if (!URL.canParse(value) || !/^postgres(ql)?:\/\//.test(value)) throw new SyntaxError("a postgres:// URL is wanted");
  return value;
}

/**
 * Parses comma-separated page origins as browsers send them in `Origin`: any scheme, without default ports. `*` and
 * `null` stay unchanged.
 */
export const pageOrigins = (value: string): string[] => list(value).map(pageOrigin);

function pageOrigin(word: string): string {
  if (word === "*" || word === "null") return word;
  const url = URL.parse(word);
  if (url !== null && /^https?:\/\/[^/?#@*\\]+\/?$/i.test(word)) return url.origin;
  if (url !== null && /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[\w.-]+(:\d+)?$/i.test(word)) return word.toLowerCase();
  throw new SyntaxError(`"${word}" is no origin such as https://app.example`);
}

/** Parses the path of an existing folder; null when empty. */
export function optionalFolder(path: string): string | null {
  if (path === "") return null;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new RangeError("there is no such folder");
  if (!stats.isDirectory()) throw new RangeError("it is no folder");
  return path;
}
