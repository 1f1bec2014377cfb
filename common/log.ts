import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import process from "node:process";
import { setImmediate } from "node:timers";

/** Levels, least first; a logger drops what is below its own. */
export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "text" | "json";
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/** Structured log: an event name that stays stable and plain fields. Secrets never go in. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface LoggerOptions {
  format?: LogFormat;
  level?: LogLevel;
  /** Takes lines without the newline of the last one; standard error when left out. */
  write?: (lines: string) => void;
  now?: () => Date;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/**
 * A logger that writes one line an event, to standard error unless `write` says otherwise. On standard error, lines of
 * one turn of the event loop go out together, up to one that warns: a write each would cost a busy server a fifth of
 * its time.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { format = "text", level = "info", now = () => new Date() } = options;
  const least = LEVELS.indexOf(level);
  const serialize = format === "json" ? serializeJson : serializeText;
  const gathered = options.write === undefined ? gatherLines() : null;
  const logAt = (at: LogLevel) => {
    if (LEVELS.indexOf(at) < least) return () => {};
    const write = options.write ?? (at === "warn" || at === "error" ? gathered?.writeNow : gathered?.write);
    return (event: string, fields: LogFields = {}) => write?.(serialize(now(), at, event, fields));
  };
  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
}

/** Lines on their way to standard error. What is left of them at an exit goes out with it. */
function gatherLines() {
  let lines: string[] = [];
  const flush = () => {
    if (lines.length === 0) return;
    writeToStandardError(lines.join("\n") + "\n");
    lines = [];
  };
  process.on("exit", flush);
  return {
    write(line: string): void {
      if (lines.push(line) === 1) setImmediate(flush);
    },
    writeNow(line: string): void {
      lines.push(line);
      flush();
    },
  };
}

/** Synchronous, so that nothing is lost. */
function writeToStandardError(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(2, bytes, written);
  } catch {
    // Standard error that is closed, or takes no more just now: this knows what to do, at five times the cost.
    // deno-lint-ignore no-console
    console.error(bytes.toString("utf8", written).trimEnd());
  }
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
  let line = `${time.toISOString()} ${level.padEnd(5)} ${event}`;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    const text = String(value);
    line += ` ${name}=${/^[\w.:/@+-]+$/.test(text) ? text : quote(text)}`;
  }
  return line;
}

/** In quotes, with every control character escaped, those of C1 too, which JSON leaves as they are. */
function quote(text: string): string {
  const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escape);
}
