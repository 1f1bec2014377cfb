import { formatBytes, formatDuration, formatTime, printable } from "../../common/format.ts";
import { later } from "../../common/later.ts";
import type { LineWriter } from "../../common/output/mod.ts";
import type { Screen } from "./screen.ts";

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
  const { out, errors, color, colorErrors, showQr, columns = Infinity, now = Date.now } = options;
  const paint = createPaint(color), paintError = createPaint(colorErrors);
  const field = (name: string, value: string) => out.write(`  ${paint(DIM, name.padEnd(16))}  ${value}`);
  const writeQr = async (url: string) => {
    const { createQr }: typeof import("./qr_code.ts") = await import(later("./qr_code.ts"));
    const code = createQr(url, color), width = widthOf(code);
    if (width <= columns) return out.write("\n" + code);
    // What breaks into other lines no camera can read.
    errors.write(paintError(YELLOW, `The QR code needs a terminal of ${width} columns, and this one has ${columns}.`));
  };
  return {
    async opened({ url, target, expiresAt, resumed }) {
      out.write("");
      field("Public endpoint", paint(BOLD, url) + (resumed ? " (resumed)" : ""));
      field("Local service", target);
      field("Expires", describeExpiry(expiresAt, now()));
      if (showQr) await writeQr(url);
      out.write(`\n${paint(DIM, "Waiting for connections. Press Ctrl+C to stop.")}`);
    },
    async openedPersistent({ name, ports, usage }) {
      out.write("");
      field("Tunnel", paint(BOLD, printable(name)));
      for (const { url, target } of ports) {
        field("Public endpoint", paint(BOLD, url));
        field("Local service", target);
      }
      field("Data used", usage.text);
      if (showQr) await writeQr(ports[0].url);
      out.write(`\n${paint(DIM, "Waiting for connections. Press Ctrl+C to stop.")}`);
    },
    async served(target, urls) {
      out.write("");
      field("Shared", target);
      urls.forEach((url, index) => field(index === 0 ? "Addresses" : "", paint(BOLD, url)));
      // The one that a phone can reach, which the first is not when there are several.
      if (showQr) await writeQr(urls[1] ?? urls[0]);
      out.write(`\n${paint(DIM, "Waiting for connections. Press Ctrl+C to stop.")}`);
    },
    request: ({ method, path, status, durationMs, upgrade, port }) => {
      const duration = paint(
        DIM,
        upgrade === "open" ? "open" : formatDuration(durationMs) + (upgrade ? ", closed" : ""),
      );
      out.write(
        `${timestamp(now())} ${method} ${escapePath(path)} ${paint(colorOf(status), String(status))} ${duration}` +
          (port === undefined ? "" : paint(DIM, ` :${port}`)),
      );
    },
    reconnecting: (reason, delayMs) =>
      errors.write(
        paintError(YELLOW, `Connection lost: ${describeReason(reason)} Trying again in ${formatDuration(delayMs)}.`),
      ),
    reconnected: () => errors.write(paintError(GREEN, "Connected again, under the same URL.")),
    note: (text) => errors.write(printable(text)),
    closed(reason, { requests, bytes }) {
      out.write(`\n${reason}`);
      field("Requests served", String(requests));
      field("Data transferred", formatBytes(bytes));
    },
    flush: async () => {
      await out.flush();
      await errors.flush();
    },
  };
}

const createPaint = (color: boolean) => (code: number, text: string) => color ? `\x1b[${code}m${text}\x1b[0m` : text;

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
  return path.replace(
    /[^\x21-\x7e]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

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
