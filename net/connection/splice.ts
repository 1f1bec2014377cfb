import type { Connection } from "./types.ts";

/** When two joined connections end, and who counts what passes. */
export interface SpliceOptions {
  /** Ends both connections when it aborts. */
  signal?: AbortSignal;
  /** Milliseconds without a byte either way after which both are ended; no limit when left out. */
  idleMs?: number;
  /** Told of bytes as they pass, with their direction, before they are written on. */
  onBytes?(count: number, direction: Direction): void;
}

/** From the first connection to the second, or back. */
export type Direction = "there" | "back";

/** How it was. */
export interface Spliced {
  /** Bytes from the first connection to the second, and back. */
  there: number;
  back: number;
  /** What ended it: both sides were done, one broke, nothing moved, or the signal. */
  ended: "done" | "broken" | "idle" | "aborted";
}

/** Memory of one direction: most connections are quiet, and many are open. It grows while reads fill it. */
const LEAST_BYTES = 4 * 1024;
const LARGEST_BYTES = 64 * 1024;

/**
 * Joins two connections byte for byte until both sides are done, and closes both whatever happens. A side that ends its
 * half is ended on the other side too, and may still be answered. Bytes are read no faster than they can be written.
 * Never rejects.
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

  /** The one place that ends both; the first reason counts. */
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
        // A peer that takes slowly what there is much of is not idle.
        this.#hasMoved = true;
        if (read === memory.length && read < LARGEST_BYTES) memory = new Uint8Array(read * 4);
      }
      await to.closeWrite();
    } catch {
      // Which side broke makes no difference to what follows: there is nobody left to carry bytes to.
      this.#end("broken");
    }
  }

  /** Two looks without a byte between them: what is idle ends after one to two times the limit. */
  #checkIdle(): void {
    if (!this.#hasMoved) this.#end("idle");
    this.#hasMoved = false;
  }
}
