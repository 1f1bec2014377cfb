import { openLineWriter, openOutput } from "./output/mod.ts";

/** Levels, least first; a logger drops what is below its own. */
export type LogLevel = "debug" | "info" | "warn" | "error";
/** `text` for people, `json` for programs: one object a line. */
export type LogFormat = "text" | "json";
/** What a line says besides its event. Undefined fields are left out. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/** Structured log: an event name that stays stable and plain fields. Secrets never go in. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** A logger whose lines may wait to be written. */
export interface WaitingLogger extends Logger {
  /** Resolves when every line has been handed to the system, or nobody takes them: call it before an exit. */
  flush(): Promise<void>;
}

/** Form, level and place of the lines. Default: `text`, `info`, standard error. */
export interface LoggerOptions {
  format?: LogFormat;
  level?: LogLevel;
  /** Takes one line without its newline; standard error when left out. */
  write?: (line: string) => void;
  now?: () => Date;
}

/** Bytes of lines that wait for a reader who stalls. Then the older half is left out, and a line says so. */
const MAX_WAITING = 2 * 1024 * 1024;

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A logger that writes one line an event, to standard error unless `write` says otherwise. */
export function createLogger(options: LoggerOptions = {}): WaitingLogger {
  const { format = "text", level = "info", now = () => new Date() } = options;
  const least = LEVELS.indexOf(level);
  const serialize = format === "json" ? serializeJson : serializeText;
  // Nobody waits for who reads the log: a pager, or a disk that is full, must not stop what is logged.
  const writer = options.write === undefined
    ? openLineWriter(openOutput("stderr"), {
      describeDropped: (count) => serialize(now(), "warn", "log_lines_dropped", { count }),
      maxWaiting: MAX_WAITING,
      retries: true,
    })
    : { write: options.write, flush: () => Promise.resolve() };
  const logAt = (at: LogLevel) => (event: string, fields: LogFields = {}) => {
    if (LEVELS.indexOf(at) >= least) writer.write(serialize(now(), at, event, fields));
  };
  const flush = () => writer.flush();
  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error"), flush };
}

/** A logger that keeps nothing, for callers that want none. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** The message of whatever was thrown, for a log field or a line to a user. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The stack of what was thrown, for a log field. */
export function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

function serializeJson(time: Date, level: LogLevel, event: string, fields: LogFields): string {
  return JSON.stringify({ time: time.toISOString(), level, event, ...fields });
}

function serializeText(time: Date, level: LogLevel, event: string, fields: LogFields): string {
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined).map(([name, value]) =>
    ` ${name}=${/^[\w.:/@+-]+$/.test(String(value)) ? value : quote(String(value))}`
  );
  return `${time.toISOString()} ${level.padEnd(5)} ${event}${pairs.join("")}`;
}

/** In quotes, with every control character escaped, those of C1 too, which JSON leaves as they are. */
function quote(text: string): string {
  const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escape);
}
