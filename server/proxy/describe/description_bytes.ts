import { Buffer } from "node:buffer";
import { bodyTooLarge, HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { AlarmClock } from "../perform/deadline.ts";
import { busy } from "../gate.ts";

/** How much of a body is read, and what counts its memory. `maxBytes` is for the whole body. */
export interface ReadBytesOptions extends PauseOptions {
  maxBytes: number;
  held: HeldMemory;
}

/**
 * The body, its memory counted as it arrives.
 * @throws HttpError 413 `body_too_large`, 503 `busy`, 408 `request_timeout`
 */
export async function readDescription(exchange: Exchange, options: ReadBytesOptions): Promise<Buffer> {
  const { maxBytes, held } = options;
  const bytes = new GrowingBytes();
  if (exchange.body === null) return bytes.take();
  const { chunks, stop } = watchPauses(exchange.body, options);
  try {
    for await (const chunk of chunks) {
      if (bytes.length + chunk.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
      held.add(chunk.byteLength);
      bytes.append(chunk);
    }
  } finally {
    stop();
  }
  return bytes.take();
}

/** @throws HttpError 413 when more arrives than may. */
export async function* limitBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    yield chunk;
  }
}

/** How long a body may pause. */
export interface PauseOptions {
  clock: AlarmClock;
  /** Milliseconds that may pass between two chunks. */
  idleMs: number;
}

/** A body that is given up when it stalls. */
export interface WatchedBody {
  /** @throws HttpError 408 `request_timeout` */
  chunks: AsyncGenerator<Uint8Array>;
  /** From now on pauses may be of any length, as somebody else watches. */
  stop(): void;
}

/** Watches for pauses in a body that is read to be kept. Whoever calls it calls `stop`. */
export function watchPauses(body: ReadableStream<Uint8Array>, { clock, idleMs }: PauseOptions): WatchedBody {
  const reader = body.getReader();
  let failure: HttpError | null = null;
  const alarm = clock.set(idleMs, () => {
    failure = new HttpError(408, "request_timeout", `Nothing more of the description came within ${idleMs} ms.`, {
      headers: { connection: "close" },
    });
    // It ends the read under way. A body that fails by itself at that moment has nobody left to tell.
    reader.cancel(failure).catch(() => {});
  });

  async function* read(): AsyncGenerator<Uint8Array> {
    let isWhole = false;
    try {
      while (true) {
        const { done, value } = await reader.read();
        if (failure !== null) throw failure;
        isWhole = done;
        if (done) return;
        clock.postpone(alarm, idleMs);
        yield value;
      }
    } finally {
      clock.clear(alarm);
      if (!isWhole) await reader.cancel();
    }
  }

  return { chunks: read(), stop: () => clock.clear(alarm) };
}

/** As many fit of those that are as large as may be. */
const LARGEST_AT_A_TIME = 4;
/** A description of no more is no more of a burden than the connection that it comes on, and is not counted. */
const SMALL_BYTES = 64 * 1024;

/** Whether a body has announced to be so small that its memory is not counted. */
export function isSmallDescription(exchange: Exchange): boolean {
  const announced = exchange.header("content-length");
  return announced !== null && Number(announced) <= SMALL_BYTES;
}

/** The text of a body that {@link isSmallDescription}. It mostly is there in one piece, which costs no copy. */
export async function readSmall(exchange: Exchange): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** The memory that descriptions take, those of all callers together. */
export class DescriptionMemory {
  /** Bytes; below 0 there are none. What is open takes them and gives them back. */
  left: number;

  /** @param maxBytes of one description */
  constructor(maxBytes: number) {
    this.left = maxBytes * LARGEST_AT_A_TIME;
  }

  /** For one description. Whoever opens it closes it. */
  open(): HeldMemory {
    return new HeldMemory(this);
  }
}

/** What one description has of the memory. */
export class HeldMemory {
  readonly #memory: DescriptionMemory;
  #counted = 0;
  #free = SMALL_BYTES;

  constructor(memory: DescriptionMemory) {
    this.#memory = memory;
  }

  /** @throws HttpError 503 `busy` when all callers together hold too much; it holds nothing any more then */
  add(bytes: number): void {
    const taken = Math.max(0, bytes - this.#free);
    this.#free -= bytes - taken;
    this.#memory.left -= taken;
    this.#counted += taken;
    if (this.#memory.left >= 0) return;
    // At once: one that is refused makes room for the others.
    this.close();
    throw busy();
  }

  /** Gives all of it back. */
  close(): void {
    this.#memory.left += this.#counted;
    this.#counted = 0;
  }
}

/** Bytes that come piece by piece, copied into one place: linear in their number, whatever the size of the pieces. */
export class GrowingBytes {
  #memory = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All so far, as a view that the next change makes stale. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** Copies `piece` behind what is there. */
  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#memory.length * 2));
      larger.set(this.bytes);
      this.#memory = larger;
    }
    this.#memory.set(piece, this.#length);
    this.#length = length;
  }

  /** Hands all over, for good, and begins anew. */
  take(): Buffer {
    const { bytes } = this;
    this.#memory = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
