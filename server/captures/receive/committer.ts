import { yieldToEventLoop } from "../../../common/event_loop.ts";
import type { BodyChunk, CaptureBatch, Captures, NewCapture } from "../../store/mod.ts";

/** Limits for a commit, which blocks all other database work. */
const MAX_CAPTURES = 1000;
const MAX_BYTES = 8 * 1024 * 1024;

/** The store, and a listener for stored calls. */
export interface CommitterOptions {
  store: Pick<Captures, "keep">;
  /** Bytes per view. */
  maxViewBytes: number;
  /** Called after captures in these views were stored. */
  onKept(viewIds: Iterable<string>): void;
}

interface Waiting {
  capture: NewCapture | null;
  chunk: BodyChunk | null;
  bytes: number;
  resolve(cursor: number | null): void;
  reject(error: unknown): void;
}

/**
 * Stores calls in groups. All calls that arrive within one event loop iteration, or during a commit, share a
 * transaction. Each call is on the disk before the response, and one disk sync serves the whole group.
 */
export class Committer {
  readonly #options: CommitterOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #kept = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the cursor once the call is stored, or with null when its view was deleted.
   * @throws errors from the store
   */
  keep(capture: NewCapture): Promise<number | null> {
    return this.#add(capture, null, capture.body.length);
  }

  /** Resolves once the chunk is stored. @throws errors from the store */
  async keepChunk(chunk: BodyChunk): Promise<void> {
    await this.#add(null, chunk, chunk.bytes.length);
  }

  /** Calls stored so far. */
  get kept(): number {
    return this.#kept;
  }

  /** Resolves once the queue is empty. */
  async flush(): Promise<void> {
    await this.#running;
  }

  #add(capture: NewCapture | null, chunk: BodyChunk | null, bytes: number): Promise<number | null> {
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    this.#waiting.push({ capture, chunk, bytes, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    do {
      await yieldToEventLoop();
      await this.#commit(this.#takeGroup());
    } while (this.#waiting.length > 0);
    this.#running = null;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0, count = 0;
    while (count < this.#waiting.length && count < MAX_CAPTURES && bytes < MAX_BYTES) {
      bytes += this.#waiting[count++].bytes;
    }
    const group = this.#waiting;
    this.#waiting = group.splice(count);
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const batch: CaptureBatch = {
      captures: group.flatMap(({ capture }) => capture ?? []),
      chunks: group.flatMap(({ chunk }) => chunk ?? []),
    };
    try {
      const cursors = await this.#options.store.keep(batch, this.#options.maxViewBytes);
      this.#kept += cursors.filter((cursor) => cursor !== null).length;
      let next = 0;
      for (const { capture, resolve } of group) resolve(capture === null ? null : cursors[next++]);
      this.#options.onKept(new Set(batch.captures.map(({ viewId }) => viewId)));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
