import { within } from "./within.ts";

/** One JSON object that a program printed on standard output. */
export interface JsonEvent {
  event: string;
  [field: string]: unknown;
}

/** Lines that arrive, and those who wait for one of them. */
export class LineLog {
  readonly lines: string[] = [];
  readonly #what: string;
  readonly #waiters = new Set<() => void>();
  /** What {@link waitFor} has handed out. */
  readonly #taken = new Set<number>();
  #ended = false;

  constructor(what: string) {
    this.#what = what;
  }

  add(line: string): void {
    this.lines.push(line);
    this.#wake();
  }

  /** No line comes any more. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  get text(): string {
    return this.lines.join("\n");
  }

  /** The first line that matches and was not handed out before; waits for it. */
  async waitFor(wanted: string | RegExp | ((line: string) => boolean)): Promise<string> {
    const matches = typeof wanted === "function"
      ? wanted
      : (line: string) => typeof wanted === "string" ? line.includes(wanted) : wanted.test(line);
    return await within(`${this.#what}: ${wanted}`, this.#find(matches), () => `; there was:\n${this.text}`);
  }

  /** Resolves when the program has closed its output. */
  async whenEnded(): Promise<void> {
    while (!this.#ended) await this.#change();
  }

  async #find(matches: (line: string) => boolean): Promise<string> {
    for (let at = 0;;) {
      for (; at < this.lines.length; at++) {
        if (this.#taken.has(at) || !matches(this.lines[at])) continue;
        this.#taken.add(at);
        return this.lines[at];
      }
      if (this.#ended) throw new Error(`${this.#what} ended without the line; there was:\n${this.text}`);
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** The events among the lines of a program that was told `--json`. */
export interface EventLog {
  /** Everything so far. */
  all(): JsonEvent[];
  /** The first event of that name that matches and was not handed out before; waits for it. */
  waitFor(name: string, matches?: (event: JsonEvent) => boolean): Promise<JsonEvent>;
}

/** Reads each line as JSON. A line that is none is an error: `--json` promises that there is no such line. */
export function createEventLog(log: LineLog): EventLog {
  const parse = (line: string): JsonEvent => JSON.parse(line);
  return {
    all: () => log.lines.map(parse),
    waitFor: async (name, matches = () => true) =>
      parse(
        await log.waitFor((line) => {
          const event = parse(line);
          return event.event === name && matches(event);
        }),
      ),
  };
}
