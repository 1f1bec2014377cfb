import { delay } from "../delay.ts";
import type { Output } from "./output.ts";

/** Writes lines, many at once when they come fast. */
export interface LineWriter {
  /** Takes one line without its newline. Nobody waits for it. */
  write(line: string): void;
  /** Resolves when everything has been handed to the system, or when nobody takes it. */
  flush(): Promise<void>;
}

/** What happens when an output is slow or gone. */
export interface LineWriterOptions {
  /** The line that stands for `count` lines which were left out because the output is read too slowly. */
  describeDropped?(count: number): string;
  /** The output takes no more: its reader has gone, or its disk is full. Told once. */
  onBroken?(reason: string): void;
  /** Lines kept while the output is slow; 100,000 when left out. */
  maxWaiting?: number;
  /** An output that failed is tried again with the next lines; those that failed count as left out. */
  retries?: boolean;
}

/** Beyond it the older half is dropped and counted. */
const MAX_WAITING = 100_000;
const GATHER_MS = 20;

/** How long the end of the program waits for a reader that takes nothing. */
const FLUSH_MS = 2000;

/** A writer over an output. One that fails is left alone from then on, or retried: nobody ends with their log. */
export function openLineWriter(output: Output, options: LineWriterOptions = {}): LineWriter {
  return new OutputLines(output, options);
}

class OutputLines implements LineWriter {
  readonly #output: Output;
  readonly #options: LineWriterOptions;
  #waiting: string[] = [];
  #dropped = 0;
  #running: Promise<void> | null = null;
  #isBroken = false;

  constructor(output: Output, options: LineWriterOptions) {
    this.#output = output;
    this.#options = options;
  }

  write(line: string): void {
    if (this.#isBroken) return;
    this.#waiting.push(line);
    if (this.#waiting.length > (this.#options.maxWaiting ?? MAX_WAITING)) {
      const over = this.#waiting.length >> 1;
      this.#waiting = this.#waiting.slice(over);
      this.#dropped += over;
    }
    this.#running ??= new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS)).then(() => this.#drain());
  }

  async flush(): Promise<void> {
    const isOver = new AbortController();
    const timeUp = delay(FLUSH_MS, isOver.signal).then(() => isOver.abort());
    while (this.#running !== null && !isOver.signal.aborted) await Promise.race([this.#running, timeUp]);
    isOver.abort();
  }

  async #drain(): Promise<void> {
    const { describeDropped = describeLeftOut } = this.#options;
    while (this.#waiting.length > 0 && !this.#isBroken) {
      const lines = this.#waiting, told = this.#dropped;
      this.#waiting = [];
      this.#dropped = 0;
      const text = (told > 0 ? `${describeDropped(told)}\n` : "") + lines.join("\n") + "\n";
      await this.#output(text).catch((error) => {
        this.#dropped += told;
        this.#fail(error, lines);
      });
    }
    this.#running = null;
  }

  #fail(error: unknown, lines: readonly string[]): void {
    if (this.#options.retries) return void (this.#dropped += lines.length);
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#waiting = [];
    this.#options.onBroken?.(error instanceof Error ? error.message : String(error));
  }
}

const describeLeftOut = (count: number): string => `(${count} lines were left out: the output is read too slowly)`;
