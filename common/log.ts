import { openLineWriter, openOutput } from "./output/mod.ts";

/** Levels, least severe first. A logger drops lines below its level. */
export type LogLevel = "debug" | "info" | "warn" | "error";
/** `text` for people, `json` for programs with one object per line. */
export type LogFormat = "text" | "json";
/** Fields beside the event. Undefined ones are left out. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/** Structured log with stable event names and plain fields. Never pass secrets. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** A logger that can buffer lines. */
export interface WaitingLogger extends Logger {
  /** Resolves when the system has taken all lines, or cannot take more. Call it before an exit. */
  flush(): Promise<void>;
}

/** Form, level and destination. Default: `text`, `info`, standard error. */
export interface LoggerOptions {
  format?: LogFormat;
  level?: LogLevel;
  /** Writes one line without its newline; standard error if left out. */
  write?: (line: string) => void;
  now?: () => Date;
}

/** Buffered bytes for a stalled reader. Beyond them the older half is dropped, and a line reports that. */
const MAX_WAITING = 2 * 1024 * 1024;

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Creates a logger with one line per event, to standard error unless `write` is given. */
export function createLogger(options: LoggerOptions = {}): WaitingLogger {
  const { format = "text", level = "info", now = () => new Date() } = options;
  const least = LEVELS.indexOf(level);
  const serialize = format === "json" ? serializeJson : serializeText;
  // A stalled log reader or a full disk must not stop the program.
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

/** A logger without output. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Returns the message of any thrown value. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the stack of any thrown value, for a log field. */
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

/** Quotes text and escapes control characters, including C1, which JSON leaves unchanged. */
function quote(text: string): string {
  const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escape);
}
