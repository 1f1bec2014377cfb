import { yieldToEventLoop } from "../../../common/event_loop.ts";
import type { BodyPiece, CaptureBatch, Captures, NewCapture } from "../../store/mod.ts";

/** What one commit takes at most: it keeps everybody else from the database. */
const MAX_CAPTURES = 1000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Where calls are kept, and who hears of it. */
export interface CommitterOptions {
  store: Pick<Captures, "keep">;
  /** Bytes of one view. */
  maxViewBytes: number;
  /** Something of these views has been kept. */
  onKept(viewIds: Iterable<string>): void;
}

interface Waiting {
  capture: NewCapture | null;
  piece: BodyPiece | null;
  bytes: number;
  resolve(cursor: number | null): void;
  reject(error: unknown): void;
}

/**
 * Keeps calls in groups: all that arrive in one turn of the event loop, or while a commit runs, are one transaction. So
 * each is on the disk before it is answered, and the disk is waited for once for all of them.
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
   * Resolves once the call is kept, with its cursor, or with null when its view is gone.
   * @throws what the store does
   */
  keep(capture: NewCapture): Promise<number | null> {
    return this.#add(capture, null, capture.body.length);
  }

  /** Resolves once the piece is kept. @throws what the store does */
  async keepPiece(piece: BodyPiece): Promise<void> {
    await this.#add(null, piece, piece.bytes.length);
  }

  /** Calls kept since this began. */
  get kept(): number {
    return this.#kept;
  }

  /** Resolves when nothing waits any more. */
  async flush(): Promise<void> {
    await this.#running;
  }

  #add(capture: NewCapture | null, piece: BodyPiece | null, bytes: number): Promise<number | null> {
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    this.#waiting.push({ capture, piece, bytes, resolve, reject });
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
      pieces: group.flatMap(({ piece }) => piece ?? []),
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
