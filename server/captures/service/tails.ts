import { HttpError } from "../../../common/http_error.ts";
import type { Ended, OpenStreams, Principal } from "../../access/mod.ts";
import type { Arrivals } from "../../cluster/mod.ts";
import type { Captures, OpenedCapture } from "../../store/mod.ts";
import { tooManyTails } from "../errors.ts";
import { describeOpened } from "./describe.ts";

/** A silent stream sends a heartbeat in this interval, which shows both ends that the connection works. */
const HEARTBEAT_MS = 15_000;
/** The interval for permission checks on busy and silent streams. Another server may have ended the permission. */
const CHECK_MS = 5000;
/** Streams per view. */
const MAX_TAILS = 200;
/** Captures per read, and bytes after which a step ends. Together they bound the memory for a slow reader. */
const STEP = 32;
const STEP_BYTES = 256 * 1024;

const ENCODER = new TextEncoder();
const HEARTBEAT = ENCODER.encode(":\n\n");
/** Milliseconds after which a browser reconnects. */
const HELLO = ENCODER.encode("retry: 1000\n\n");
const REMOVED = ENCODER.encode("event: removed\ndata: {}\n\n");

type Bytes = Uint8Array<ArrayBuffer>;

/** A stream to be opened. */
export interface TailOptions {
  /** The principal whose permission {@link check} confirmed. */
  principal: Principal;
  viewId: string;
  /** The stream begins behind this cursor. */
  after: number;
  /** Confirms that the view exists and the reader may read it. @throws HttpError otherwise */
  check(): Promise<void>;
}

/** Intervals that tests shorten. */
export interface TailLimits {
  heartbeatMs?: number;
  checkMs?: number;
}

/** Captures in the stream's format. */
interface Step {
  bytes: Bytes;
  /** The last capture's cursor. */
  last: number;
}

/** State that all streams share. */
interface TailContext {
  readonly limits: Required<TailLimits>;
  read(viewId: string, cursor: number): Promise<Step | null>;
}

/**
 * Streams of server-sent events. Each capture is sent once and in order. A stream reads from the store as fast as its
 * reader takes events; streams at the same cursor share a read. A stream ends with its principal's permission and with
 * its view.
 */
export class Tails {
  readonly #store: Pick<Captures, "listAfter">;
  readonly #arrivals: Arrivals;
  readonly #streams: OpenStreams;
  readonly #context: TailContext;
  /** Running reads, by view and cursor. */
  readonly #steps = new Map<string, Promise<Step | null>>();
  /** Open streams by view. */
  readonly #tails = new Map<string, Set<Tail>>();
  #removals = 0;

  constructor(
    store: Pick<Captures, "listAfter">,
    arrivals: Arrivals,
    streams: OpenStreams,
    { heartbeatMs = HEARTBEAT_MS, checkMs = CHECK_MS }: TailLimits = {},
  ) {
    this.#store = store;
    this.#arrivals = arrivals;
    this.#streams = streams;
    this.#context = { limits: { heartbeatMs, checkMs }, read: (viewId, cursor) => this.#read(viewId, cursor) };
  }

  /** The number of open streams. */
  get count(): number {
    return [...this.#tails.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Opens a stream. @throws HttpError 429 at the view's limit */
  open(options: TailOptions): ReadableStream<Bytes> {
    const { viewId, principal } = options;
    const tails = this.#tails.get(viewId) ?? new Set();
    if (tails.size >= MAX_TAILS) throw tooManyTails();
    const tail: Tail = new Tail(options, this.#context, () => {
      stopListening();
      forget();
      tails.delete(tail);
      if (tails.size === 0 && this.#tails.get(viewId) === tails) this.#tails.delete(viewId);
    });
    const stopListening = this.#arrivals.listen(viewId, () => tail.wake());
    const forget = this.#streams.add(principal, (ended) => tail.end(hasSuccessor(ended) ? null : REMOVED));
    this.#tails.set(viewId, tails.add(tail));
    return new ReadableStream(tail, { highWaterMark: 0 });
  }

  /**
   * Counts ended permissions and deleted views. A caller that checks a permission before it opens a stream compares
   * this count, because an end in between would not reach the stream.
   */
  get endings(): number {
    return this.#streams.endings + this.#removals;
  }

  /** Ends the streams of a deleted view. */
  endView(viewId: string): void {
    this.#removals++;
    for (const tail of [...this.#tails.get(viewId) ?? []]) tail.end(REMOVED);
  }

  /** Ends all streams. Readers reconnect, elsewhere or later. */
  close(): void {
    for (const tails of [...this.#tails.values()]) for (const tail of [...tails]) tail.end(null);
  }

  #read(viewId: string, cursor: number): Promise<Step | null> {
    const key = `${viewId} ${cursor}`;
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    const step = this.#store.listAfter(viewId, cursor, STEP).then(toStep).finally(() => this.#steps.delete(key));
    this.#steps.set(key, step);
    return step;
  }
}

/** Whether the reader can reconnect with a new login. */
function hasSuccessor(ended: Ended): boolean {
  return "successor" in ended && ended.successor !== undefined;
}

/** One stream, as the source of a ReadableStream. */
class Tail implements UnderlyingDefaultSource<Bytes> {
  readonly #options: TailOptions;
  readonly #context: TailContext;
  readonly #onEnd: () => void;
  #cursor: number;
  #controller: ReadableStreamDefaultController<Bytes> | null = null;
  #checkedAt = performance.now();
  #isFirst = true;
  #isOver = false;
  /** Whether captures may have arrived since the last read began. */
  #hasNews = false;
  #wake: (() => void) | null = null;

  constructor(options: TailOptions, context: TailContext, onEnd: () => void) {
    this.#options = options;
    this.#context = context;
    this.#onEnd = onEnd;
    this.#cursor = options.after;
  }

  start(controller: ReadableStreamDefaultController<Bytes>): void {
    this.#controller = controller;
  }

  async pull(controller: ReadableStreamDefaultController<Bytes>): Promise<void> {
    if (this.#isFirst) {
      this.#isFirst = false;
      return controller.enqueue(HELLO);
    }
    try {
      const bytes = await this.#next();
      if (bytes !== null && !this.#isOver) controller.enqueue(bytes);
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  cancel(): void {
    this.#release();
  }

  /** Triggers a look for new captures. */
  wake(): void {
    this.#hasNews = true;
    this.#wake?.();
  }

  /** Ends the stream at once, even if its reader is slow. @param farewell the last event; null for none */
  end(farewell: Bytes | null): void {
    if (this.#isOver) return;
    this.#release();
    if (farewell !== null) this.#controller?.enqueue(farewell);
    this.#controller?.close();
  }

  /** Returns the next event, or null for an ended stream. Rejects when the store fails, which breaks the stream off. */
  async #next(): Promise<Bytes | null> {
    const { viewId } = this.#options, { read, limits } = this.#context;
    while (!this.#isOver) {
      await this.#checkNowAndThen();
      if (this.#isOver) return null;
      this.#hasNews = false;
      const step = await read(viewId, this.#cursor);
      if (step !== null) {
        this.#cursor = step.last;
        return step.bytes;
      }
      if (await this.#wait(limits.heartbeatMs) === "late") {
        await this.#check();
        return this.#isOver ? null : HEARTBEAT;
      }
    }
    return null;
  }

  async #checkNowAndThen(): Promise<void> {
    if (performance.now() - this.#checkedAt >= this.#context.limits.checkMs) await this.#check();
  }

  async #check(): Promise<void> {
    try {
      await this.#options.check();
      this.#checkedAt = performance.now();
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      this.end(REMOVED);
    }
  }

  async #wait(ms: number): Promise<"woken" | "late"> {
    if (this.#hasNews || this.#isOver) return "woken";
    return await new Promise((resolve) => {
      const settle = (result: "woken" | "late") => {
        clearTimeout(timer);
        this.#wake = null;
        resolve(result);
      };
      const timer = setTimeout(() => settle("late"), ms);
      this.#wake = () => settle("woken");
    });
  }

  #release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
    this.#wake?.();
  }
}

function toStep(captures: readonly OpenedCapture[]): Step | null {
  let text = "", last = 0;
  for (const capture of captures) {
    if (text.length > STEP_BYTES) break;
    text += `id: ${capture.cursor}\nevent: capture\ndata: ${JSON.stringify(describeOpened(capture))}\n\n`;
    last = capture.cursor;
  }
  return last === 0 ? null : { bytes: ENCODER.encode(text), last };
}
