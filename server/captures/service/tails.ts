import { HttpError } from "../../../common/http_error.ts";
import type { Arrivals } from "../../cluster/mod.ts";
import type { Captures, OpenedCapture } from "../../store/mod.ts";
import { tooManyTails } from "../errors.ts";
import { describeOpened } from "./describe.ts";

/** Nobody waits longer without a word: then they know that the connection holds, and we that they still may listen. */
const HEARTBEAT_MS = 15_000;
const MAX_TAILS = 200;
/** Captures that are read in one step, and bytes after which a step is sent: what a slow reader holds in memory. */
const STEP = 32;
const STEP_BYTES = 256 * 1024;

const ENCODER = new TextEncoder();
const HEARTBEAT = ENCODER.encode(":\n\n");
/** Milliseconds after which a browser connects again. */
const HELLO = ENCODER.encode("retry: 1000\n\n");
const REMOVED = ENCODER.encode("event: removed\ndata: {}\n\n");

/** Which view is followed, and from where on. */
export interface TailOptions {
  viewId: string;
  /** The cursor that what is sent comes after. */
  after: number;
  /** Now and then: whether the reader still may listen, and there is a view to listen to. @throws HttpError when not */
  check(): Promise<void>;
}

/** Some captures, as they are sent. */
interface Step {
  bytes: Uint8Array<ArrayBuffer>;
  /** The cursor of the last. */
  last: number;
}

/**
 * Streams of server-sent events that tell of captures: each of them once, in their order. Each reads from the store as
 * fast as its reader takes it; those that are at the same place share what was read.
 */
export class Tails {
  readonly #store: Pick<Captures, "listAfter">;
  readonly #arrivals: Arrivals;
  readonly #heartbeatMs: number;
  /** What is being read now, by view and cursor. */
  readonly #steps = new Map<string, Promise<Step | null>>();
  readonly #ends = new Set<() => void>();
  readonly #counts = new Map<string, number>();

  constructor(store: Pick<Captures, "listAfter">, arrivals: Arrivals, heartbeatMs = HEARTBEAT_MS) {
    this.#store = store;
    this.#arrivals = arrivals;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Tails that are open. */
  get count(): number {
    return this.#ends.size;
  }

  /** @throws HttpError 429 when the view has as many as it may */
  open(options: TailOptions): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { viewId } = options;
    const count = this.#counts.get(viewId) ?? 0;
    if (count >= MAX_TAILS) throw tooManyTails();
    this.#counts.set(viewId, count + 1);
    const bell = new Bell();
    const stopListening = this.#arrivals.listen(viewId, () => bell.ring());
    const end = () => {
      if (!this.#ends.delete(end)) return;
      stopListening();
      bell.close();
      const left = (this.#counts.get(viewId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(viewId);
      else this.#counts.set(viewId, left);
    };
    this.#ends.add(end);
    return new ReadableStream(this.#createSource(options, bell, end), { highWaterMark: 0 });
  }

  /** Ends them all: their readers connect again, elsewhere or later. */
  close(): void {
    for (const end of [...this.#ends]) end();
  }

  #createSource({ viewId, after, check }: TailOptions, bell: Bell, end: () => void) {
    let cursor = after, isFirst = true;
    return {
      pull: async (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
        if (isFirst) {
          isFirst = false;
          return controller.enqueue(HELLO);
        }
        for (;;) {
          bell.reset();
          const step = bell.isClosed ? null : await this.#read(viewId, cursor);
          if (step !== null) {
            cursor = step.last;
            return controller.enqueue(step.bytes);
          }
          const woken = await bell.wait(this.#heartbeatMs);
          if (woken === "closed") return controller.close();
          if (woken === "rung") continue;
          const farewell = await check().then(() => null, sayFarewell);
          controller.enqueue(farewell ?? HEARTBEAT);
          if (farewell === null) return;
          end();
          return controller.close();
        }
      },
      cancel: end,
    };
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

/** Who may not listen any more hears nothing more; what else failed is thrown, and breaks the stream off. */
function sayFarewell(error: unknown): Uint8Array<ArrayBuffer> {
  if (error instanceof HttpError) return REMOVED;
  throw error;
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

/** Wakes who waits for it; what rings before the wait counts too. */
class Bell {
  isClosed = false;
  #hasRung = false;
  #wake: (() => void) | null = null;

  reset(): void {
    this.#hasRung = false;
  }

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }

  close(): void {
    this.isClosed = true;
    this.#wake?.();
  }

  async wait(ms: number): Promise<"rung" | "closed" | "late"> {
    if (!this.#hasRung && !this.isClosed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    return this.isClosed ? "closed" : this.#hasRung ? "rung" : "late";
  }
}
