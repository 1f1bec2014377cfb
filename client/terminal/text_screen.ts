import { formatBytes, formatDuration, formatTime, printable } from "../../common/format.ts";
import { later } from "../../common/later.ts";
import type { LineWriter } from "../../common/output/mod.ts";
import type { CarriedLine, OpenedPersistent, OpenedTunnel, Screen, Summary } from "./screen.ts";

/** Options for text output. */
export interface TextScreenOptions {
  out: LineWriter;
  /** Standard error, for messages that are not data. */
  errors: LineWriter;
  color: boolean;
  /** Whether standard error supports colors; it may lead elsewhere. */
  colorErrors: boolean;
  showQr: boolean;
  /** Characters per line on `out`; unlimited outside a terminal. */
  columns?: number;
  /** Unix milliseconds. */
  now?: () => number;
}

/** Creates a screen that writes lines for people. */
export function createTextScreen(options: TextScreenOptions): Screen {
  return new TextScreen(options);
}

class TextScreen implements Screen {
  readonly #out: LineWriter;
  readonly #errors: LineWriter;
  readonly #paint: Paint;
  readonly #paintError: Paint;
  readonly #color: boolean;
  readonly #showQr: boolean;
  readonly #columns: number;
  readonly #now: () => number;
  /** Formatted statuses, by number. */
  readonly #answers: string[] = [];
  /** Time of the last line about a lost connection, or null while connected. */
  #reportedLossAt: number | null = null;

  constructor(
    { out, errors, color, colorErrors, showQr, columns = Infinity, now = Date.now }: TextScreenOptions,
  ) {
    this.#out = out;
    this.#errors = errors;
    this.#paint = createPaint(color);
    this.#paintError = createPaint(colorErrors);
    this.#color = color;
    this.#showQr = showQr;
    this.#columns = columns;
    this.#now = now;
  }

  async opened({ url, target, expiresAt, resumed }: OpenedTunnel): Promise<void> {
    this.#out.write("");
    this.#field("Public endpoint", this.#paint(BOLD, url) + (resumed ? " (resumed)" : ""));
    this.#field("Local service", target);
    this.#field("Expires", describeExpiry(expiresAt, this.#now()));
    await this.#beginToWait(url);
  }

  async openedPersistent({ name, ports, usage }: OpenedPersistent): Promise<void> {
    this.#out.write("");
    this.#field("Tunnel", this.#paint(BOLD, printable(name)));
    for (const { url, target } of ports) {
      this.#field("Public endpoint", this.#paint(BOLD, url));
      this.#field("Local service", target);
    }
    this.#field("Data used", usage.text);
    await this.#beginToWait(ports[0].url);
  }

  async served(target: string, urls: readonly string[]): Promise<void> {
    this.#out.write("");
    this.#field("Shared", target);
    urls.forEach((url, index) => this.#field(index === 0 ? "Addresses" : "", this.#paint(BOLD, url)));
    // A phone can reach the second address; the first names this machine.
    await this.#beginToWait(urls[1] ?? urls[0]);
  }

  request({ method, path, status, durationMs, upgrade, port, reason }: CarriedLine): void {
    let took = upgrade === "open" ? "open" : formatDuration(durationMs);
    if (upgrade === "closed") took += ", closed";
    if (port !== undefined) took += ` :${port}`;
    const paint = this.#paint;
    const answer = this.#answers[status] ??= ` ${paint(colorOf(status), String(status))} `;
    this.#out.write(
      timestamp(this.#now()),
      " ",
      method,
      " ",
      escapePath(path),
      answer,
      paint(DIM, took),
      reason ? ` ${printable(reason)}` : "",
    );
  }

  reconnecting(reason: string, delayMs: number): void {
    const now = this.#now();
    // The first attempts follow within seconds, and most losses are over by then.
    if (this.#reportedLossAt !== null && now - this.#reportedLossAt < REPORT_EVERY_MS) return;
    this.#reportedLossAt = now;
    const text = `Connection lost: ${describeReason(reason)} Trying again in ${formatDuration(delayMs)}.`;
    this.#errors.write(this.#paintError(YELLOW, text));
  }

  reconnected(): void {
    this.#reportedLossAt = null;
    this.#errors.write(this.#paintError(GREEN, "Connected again, under the same URL."));
  }

  note(text: string): void {
    this.#errors.write(printable(text));
  }

  closed(reason: string, { requests, bytes }: Summary): void {
    this.#out.write(`\n${reason}`);
    this.#field("Requests served", String(requests));
    this.#field("Data transferred", formatBytes(bytes));
  }

  async flush(): Promise<void> {
    await this.#out.flush();
    await this.#errors.flush();
  }

  #field(name: string, value: string): void {
    this.#out.write(`  ${this.#paint(DIM, name.padEnd(16))}  ${value}`);
  }

  async #beginToWait(url: string): Promise<void> {
    // A code can scroll the lines above it off a small terminal, so the URL follows it.
    if (this.#showQr && await this.#writeQr(url)) this.#out.write(`\n  ${this.#paint(BOLD, url)}`);
    this.#out.write(`\n${this.#paint(DIM, "Waiting for connections. Press Ctrl+C to stop.")}`);
  }

  /** Returns whether the terminal has room for the code. */
  async #writeQr(url: string): Promise<boolean> {
    const { createQr }: typeof import("./qr_code.ts") = await import(later("./qr_code.ts"));
    const code = createQr(url, this.#color), width = widthOf(code);
    if (width <= this.#columns) {
      this.#out.write("\n" + code);
      return true;
    }
    // A camera cannot read a code with wrapped lines.
    const text = `The QR code needs a terminal of ${width} columns, and this one has ${this.#columns}.`;
    this.#errors.write(this.#paintError(YELLOW, text));
    return false;
  }
}

/** Milliseconds between lines about attempts to connect again. */
const REPORT_EVERY_MS = 10_000;

type Paint = (code: number, text: string) => string;

const createPaint = (color: boolean): Paint => (code, text) => color ? `\x1b[${code}m${text}\x1b[0m` : text;

/** The server's own reasons are sentences already. */
const describeReason = (reason: string) => printable(reason).replace(/\.?$/, ".");

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 24 * 60;

/** Returns the time for one day; beyond that, the date before it. */
function describeExpiry(expiresAt: number, now: number): string {
  const time = new Date(expiresAt), minutes = Math.max(0, Math.ceil((expiresAt - now) / MINUTE_MS));
  if (minutes <= MINUTES_A_DAY) return `${formatTime(time)}, in ${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${date.join("-")} ${formatTime(time)}, in ${Math.floor(minutes / MINUTES_A_DAY)} days`;
}

const BOLD = 1, DIM = 2, RED = 31, GREEN = 32, YELLOW = 33, CYAN = 36;

function colorOf(status: number): number {
  if (status >= 500) return RED;
  if (status >= 400) return YELLOW;
  return status >= 300 ? CYAN : GREEN;
}

/** Escapes all characters except visible ASCII, so that a visitor cannot control the terminal. */
function escapePath(path: string): string {
  let visible = 0;
  while (visible < path.length && isVisible(path.charCodeAt(visible))) visible++;
  // Nearly all paths are plain, and the test is faster than a replacement without matches.
  if (visible === path.length) return path;
  return path.replace(
    /[^\x21-\x7e]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

const isVisible = (code: number) => code > 0x20 && code < 0x7f;

let lastTime = 0;
let lastTimestamp = "";

/** Returns ISO 8601 in UTC. Lines in quick succession share a millisecond, so its text is cached. */
function timestamp(time: number): string {
  if (time !== lastTime) {
    lastTime = time;
    lastTimestamp = new Date(time).toISOString();
  }
  return lastTimestamp;
}

/** Returns the length of the longest line, without color codes. */
function widthOf(text: string): number {
  // deno-lint-ignore no-control-regex -- what is left out
  const lines = text.replace(/\x1b\[[\d;]*m/g, "").split("\n");
  return Math.max(...lines.map((line) => line.length));
}
