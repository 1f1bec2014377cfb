import { once } from "node:events";

/** Writes lines, many at once when they come fast. */
export interface LineWriter {
  write(line: string): void;
  /** Resolves when everything has been handed to the system. */
  flush(): Promise<void>;
}

/** Lines kept at most while the reader of the output is slow; then the oldest are dropped and counted. */
const MAX_WAITING = 100_000;
const GATHER_MS = 20;

/** A writer over a stream such as `process.stdout`, which it does not end. */
export function openLineWriter(stream: NodeJS.WritableStream): LineWriter {
  let waiting: string[] = [];
  let dropped = 0;
  let running: Promise<void> | null = null;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      if (dropped > 0) lines.unshift(`(${dropped} lines were left out: the output is read too slowly)`);
      dropped = 0;
      if (!stream.write(lines.join("\n") + "\n")) await once(stream, "drain").catch(() => {});
    }
    running = null;
  }

  return {
    write(line) {
      waiting.push(line);
      if (waiting.length > MAX_WAITING) {
        waiting = waiting.slice(MAX_WAITING / 2);
        dropped += MAX_WAITING / 2 + 1;
      }
      running ??= new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS)).then(drain);
    },
    flush: async () => {
      while (running !== null) await running;
    },
  };
}
