import { Buffer } from "node:buffer";
import { bodyTooLarge, HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { AlarmClock } from "../perform/deadline.ts";
import { busy } from "../gate.ts";

/** Limits for reading a body. `maxBytes` is for the whole body. */
export interface ReadBytesOptions extends PauseOptions {
  maxBytes: number;
  held: HeldMemory;
}

/**
 * Reads a body and counts its memory on arrival.
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

/** Passes a body on. @throws HttpError 413 when it is longer than allowed. */
export async function* limitBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    yield chunk;
  }
}

/** The pause limit for a body. */
export interface PauseOptions {
  clock: AlarmClock;
  /** Most milliseconds between two chunks. */
  idleMs: number;
}

/** A body that fails when it stalls. */
export interface WatchedBody {
  /** @throws HttpError 408 `request_timeout` */
  chunks: AsyncGenerator<Uint8Array>;
  /** Stops the watch, for a reader that limits pauses itself. */
  stop(): void;
}

/** Watches for pauses in a body. The caller must call `stop`. */
export function watchPauses(body: ReadableStream<Uint8Array>, { clock, idleMs }: PauseOptions): WatchedBody {
  const reader = body.getReader();
  let failure: HttpError | null = null;
  const alarm = clock.set(idleMs, () => {
    failure = new HttpError(408, "request_timeout", `The description paused for more than ${idleMs} ms.`, {
      headers: { connection: "close" },
    });
    // This ends the pending read. An error from the body at this moment has no reader left.
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

/** How many descriptions with the largest allowed size fit in memory together. */
const LARGEST_AT_A_TIME = 4;
/** Smaller descriptions cost no more than their connection, so they are not counted. */
const SMALL_BYTES = 64 * 1024;

/** Whether a body announced a size that is too small to count. */
export function isSmallDescription(exchange: Exchange): boolean {
  const announced = exchange.header("content-length");
  return announced !== null && Number(announced) <= SMALL_BYTES;
}

/**
 * Reads the text of a body for which {@link isSmallDescription} is true. It usually arrives in one chunk, which needs
 * no copy.
 */
export async function readSmall(exchange: Exchange): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let chunk = await exchange.readBody(); chunk !== null; chunk = await exchange.readBody()) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The memory that all callers' descriptions share. */
export class DescriptionMemory {
  /** Bytes; none are left below 0. Each open description takes some and returns them. */
  left: number;

  /** @param maxBytes the limit for one description */
  constructor(maxBytes: number) {
    this.left = maxBytes * LARGEST_AT_A_TIME;
  }

  /** Opens an account for one description. The caller closes it. */
  open(): HeldMemory {
    return new HeldMemory(this);
  }
}

/** One description's part in the memory. */
export class HeldMemory {
  readonly #memory: DescriptionMemory;
  #counted = 0;
  #free = SMALL_BYTES;

  constructor(memory: DescriptionMemory) {
    this.#memory = memory;
  }

  /** @throws HttpError 503 `busy` when all callers together hold too much. This description then holds no bytes. */
  add(bytes: number): void {
    const taken = Math.max(0, bytes - this.#free);
    this.#free -= bytes - taken;
    this.#memory.left -= taken;
    this.#counted += taken;
    if (this.#memory.left >= 0) return;
    // A refused description makes room at once.
    this.close();
    throw busy();
  }

  /** Returns all bytes. */
  close(): void {
    this.#memory.left += this.#counted;
    this.#counted = 0;
  }
}

/** Collects chunks in one buffer, in linear time for any chunk size. */
export class GrowingBytes {
  #memory = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All bytes so far, as a view that the next change invalidates. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** Copies a chunk to the end. */
  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#memory.length * 2));
      larger.set(this.bytes);
      this.#memory = larger;
    }
    this.#memory.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns the buffer and starts a new one. */
  take(): Buffer {
    const { bytes } = this;
    this.#memory = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
