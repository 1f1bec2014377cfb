import type { Connection } from "./types.ts";

/** End conditions and counters for joined connections. */
export interface SpliceOptions {
  /** Ends both connections when it aborts. */
  signal?: AbortSignal;
  /** Idle limit for both directions in milliseconds; no limit if left out. */
  idleMs?: number;
  /** Receives byte counts with their direction before the bytes are forwarded. */
  onBytes?(count: number, direction: Direction): void;
}

/** From the first connection to the second, or back. */
export type Direction = "there" | "back";

/** The result. */
export interface Spliced {
  /** Bytes from the first connection to the second, and back. */
  there: number;
  back: number;
  /** The reason for the end: both sides finished, one broke, idle, or the signal. */
  ended: "done" | "broken" | "idle" | "aborted";
}

/** Initial buffer per direction, small because most connections are quiet. Grows while reads fill it. */
const LEAST_BYTES = 4 * 1024;
const LARGEST_BYTES = 64 * 1024;

/**
 * Joins two connections byte for byte until both sides have finished, and always closes both. When one side ends its
 * direction, so does the other, and the opposite direction stays open. Bytes are read no faster than they can be
 * written. Never rejects.
 */
export async function splice(first: Connection, second: Connection, options: SpliceOptions = {}): Promise<Spliced> {
  const spliced = new Splice(first, second, options);
  return await spliced.run();
}

class Splice {
  readonly #first: Connection;
  readonly #second: Connection;
  readonly #options: SpliceOptions;
  readonly #counts = { there: 0, back: 0 };
  #ended: Spliced["ended"] = "done";
  #isOver = false;
  #hasMoved = false;

  constructor(first: Connection, second: Connection, options: SpliceOptions) {
    this.#first = first;
    this.#second = second;
    this.#options = options;
  }

  async run(): Promise<Spliced> {
    const { signal, idleMs } = this.#options;
    const giveUp = () => this.#end("aborted");
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted) giveUp();
    const watch = idleMs === undefined ? undefined : setInterval(() => this.#checkIdle(), idleMs);
    await Promise.all([
      this.#pump(this.#first, this.#second, "there"),
      this.#pump(this.#second, this.#first, "back"),
    ]);
    clearInterval(watch);
    signal?.removeEventListener("abort", giveUp);
    this.#end("done");
    return { ...this.#counts, ended: this.#ended };
  }

  /** The only function that ends both; the first reason counts. */
  #end(why: Spliced["ended"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended = why;
    this.#first.close();
    this.#second.close();
  }

  async #pump(from: Connection, to: Connection, direction: Direction): Promise<void> {
    let memory = new Uint8Array(LEAST_BYTES);
    try {
      for (let read = await from.read(memory); read !== null; read = await from.read(memory)) {
        this.#hasMoved = true;
        this.#counts[direction] += read;
        this.#options.onBytes?.(read, direction);
        await to.write(memory.subarray(0, read));
        // A slow reader with much data is not idle.
        this.#hasMoved = true;
        if (read === memory.length && read < LARGEST_BYTES) memory = new Uint8Array(read * 4);
      }
      await to.closeWrite();
    } catch {
      // Either way no peer is left to forward bytes to.
      this.#end("broken");
    }
  }

  /** Checks twice without a byte in between, so idle connections end after one to two times the limit. */
  #checkIdle(): void {
    if (!this.#hasMoved) this.#end("idle");
    this.#hasMoved = false;
  }
}
