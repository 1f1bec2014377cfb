import { delay } from "../delay.ts";
import type { Output } from "./output.ts";

/** Writes lines, many at once when they come fast. */
export interface LineWriter {
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
  const {
    maxWaiting = MAX_WAITING,
    retries = false,
    describeDropped = (count) => `(${count} lines were left out: the output is read too slowly)`,
  } = options;
  let waiting: string[] = [];
  let dropped = 0;
  let running: Promise<void> | null = null;
  let broken = false;

  function fail(error: unknown, lines: readonly string[]): void {
    if (retries) return void (dropped += lines.length);
    if (broken) return;
    broken = true;
    waiting = [];
    options.onBroken?.(error instanceof Error ? error.message : String(error));
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0 && !broken) {
      const lines = waiting;
      waiting = [];
      const told = dropped;
      const text = (told > 0 ? `${describeDropped(told)}\n` : "") + lines.join("\n") + "\n";
      dropped = 0;
      await output(text).catch((error) => {
        dropped += told;
        fail(error, lines);
      });
    }
    running = null;
  }

  return {
    write(line) {
      if (broken) return;
      waiting.push(line);
      if (waiting.length > maxWaiting) {
        const over = waiting.length >> 1;
        waiting = waiting.slice(over);
        dropped += over;
      }
      running ??= new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS)).then(drain);
    },
    async flush() {
      const isOver = new AbortController();
      const timeUp = delay(FLUSH_MS, isOver.signal).then(() => isOver.abort());
      while (running !== null && !isOver.signal.aborted) await Promise.race([running, timeUp]);
      isOver.abort();
    },
  };
}
