import { formatBytes, formatDuration, formatTime, printable } from "../../common/format.ts";
import { later } from "../../common/later.ts";
import type { LineWriter } from "../../common/output/mod.ts";
import type { CarriedLine, OpenedPersistent, OpenedTunnel, Screen, Summary } from "./screen.ts";

/** Where lines for people go, and what may be in them. */
export interface TextScreenOptions {
  out: LineWriter;
  /** Standard error, for what is no data. */
  errors: LineWriter;
  color: boolean;
  /** Whether standard error takes colours, which may lead elsewhere. */
  colorErrors: boolean;
  showQr: boolean;
  /** How many characters a line of `out` has room for; any number when it is no terminal. */
  columns?: number;
  /** Unix milliseconds. */
  now?: () => number;
}

/** Lines for people. */
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
  /** What lines say of answers, by their status. */
  readonly #answers: string[] = [];
  /** The time of the last line about a connection that is lost, or null while there is none. */
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
    // The one that a phone can reach, which the first is not when there are several.
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
    // What breaks into other lines no camera can read.
    const text = `The QR code needs a terminal of ${width} columns, and this one has ${this.#columns}.`;
    this.#errors.write(this.#paintError(YELLOW, text));
    return false;
  }
}

/** Milliseconds between lines about attempts to connect again. */
const REPORT_EVERY_MS = 10_000;

type Paint = (code: number, text: string) => string;

const createPaint = (color: boolean): Paint => (code, text) => color ? `\x1b[${code}m${text}\x1b[0m` : text;

/** What the server says of itself is a sentence already. */
const describeReason = (reason: string) => printable(reason).replace(/\.?$/, ".");

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 24 * 60;

/** The time of day says enough for a day; beyond it the date comes before it. */
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

/** What a visitor sends must not steer the terminal: everything but visible ASCII is shown escaped. */
function escapePath(path: string): string {
  let visible = 0;
  while (visible < path.length && isVisible(path.charCodeAt(visible))) visible++;
  // Nearly none has any other, and to look takes less than to replace nothing.
  if (visible === path.length) return path;
  return path.replace(
    /[^\x21-\x7e]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

const isVisible = (code: number) => code > 0x20 && code < 0x7f;

let lastTime = 0;
let lastTimestamp = "";

/** ISO 8601 in UTC. Lines that come fast share a millisecond, so its text is kept. */
function timestamp(time: number): string {
  if (time !== lastTime) {
    lastTime = time;
    lastTimestamp = new Date(time).toISOString();
  }
  return lastTimestamp;
}

/** Characters of the longest line, without the codes that colour it. */
function widthOf(text: string): number {
  // deno-lint-ignore no-control-regex -- what is left out
  const lines = text.replace(/\x1b\[[\d;]*m/g, "").split("\n");
  return Math.max(...lines.map((line) => line.length));
}
