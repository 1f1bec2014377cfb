import { delay } from "../../common/delay.ts";
import type { Output } from "./output.ts";

/** Writes lines, many at once when they come fast. */
export interface LineWriter {
  write(line: string): void;
  /** Resolves when everything has been handed to the system, or when nobody takes it. */
  flush(): Promise<void>;
}

export interface LineWriterOptions {
  /** The line that stands for `count` lines which were left out because the output is read too slowly. */
  describeDropped?(count: number): string;
  /** The output takes no more: its reader has gone, or its disk is full. Told once. */
  onBroken?(reason: string): void;
}

/** Lines kept at most while the reader of the output is slow; then the oldest are dropped and counted. */
const MAX_WAITING = 100_000;
const GATHER_MS = 20;

/** How long the end of the program waits for a reader that takes nothing. */
const FLUSH_MS = 2000;

/** A writer over an output. One that fails is left alone from then on: a tunnel does not end with its log. */
export function openLineWriter(output: Output, options: LineWriterOptions = {}): LineWriter {
  const { describeDropped = (count) => `(${count} lines were left out: the output is read too slowly)` } = options;
  let waiting: string[] = [];
  let dropped = 0;
  let running: Promise<void> | null = null;
  let broken = false;

  function fail(error: unknown): void {
    if (broken) return;
    broken = true;
    waiting = [];
    options.onBroken?.(error instanceof Error ? error.message : String(error));
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0 && !broken) {
      const lines = waiting;
      waiting = [];
      if (dropped > 0) lines.unshift(describeDropped(dropped));
      dropped = 0;
      await output(lines.join("\n") + "\n").catch(fail);
    }
    running = null;
  }

  return {
    write(line) {
      if (broken) return;
      waiting.push(line);
      if (waiting.length > MAX_WAITING) {
        waiting = waiting.slice(MAX_WAITING / 2);
        dropped += MAX_WAITING / 2;
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
