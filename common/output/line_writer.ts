import { acquireBuffer, LARGE, releaseBuffer } from "../buffers/buffer_pool.ts";
import { delay } from "../delay.ts";
import type { Output } from "./output.ts";

/** Writes lines, in batches when they arrive fast. */
export interface LineWriter {
  /** Takes one line without its newline, in parts, because joining them costs as much as the rest. Does not wait. */
  write(...parts: readonly string[]): void;
  /** Resolves when the system has taken all lines, or cannot take more. */
  flush(): Promise<void>;
}

/** Reactions to a slow or broken output. */
export interface LineWriterOptions {
  /** Returns a line for `count` dropped lines. */
  describeDropped?(count: number): string;
  /** Reports once that the output cannot take more: the reader is closed, or the disk is full. */
  onBroken?(reason: string): void;
  /** Buffered bytes for a slow output; 8 MiB if left out. */
  maxWaiting?: number;
  /** Retries a failed output with the next lines. Lost lines count as dropped. */
  retries?: boolean;
}

/** Beyond this limit the older half is dropped and counted. */
const MAX_WAITING = 8 * 1024 * 1024;
const GATHER_MS = 50;

/** Time limit for an output that takes no more at the program's end. */
const FLUSH_MS = 2000;

/** Opens a writer. A failed output is left alone or retried, and never ends the program. */
export function openLineWriter(output: Output, options: LineWriterOptions = {}): LineWriter {
  return new OutputLines(output, options);
}

/** Complete lines, ready to write: `memory[0, used)`. */
interface Chunk {
  readonly memory: Uint8Array<ArrayBuffer>;
  used: number;
  lines: number;
}

class OutputLines implements LineWriter {
  readonly #output: Output;
  readonly #options: LineWriterOptions;
  /** Oldest first; the last chunk is still being filled. */
  #waiting: Chunk[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #running: Promise<void> | null = null;
  #isBroken = false;

  constructor(output: Output, options: LineWriterOptions) {
    this.#output = output;
    this.#options = options;
  }

  write(...parts: readonly string[]): void {
    if (this.#isBroken) return;
    let length = 0;
    for (const part of parts) length += part.length;
    const chunk = this.#chunkFor(MAX_UTF8 * length + 1), before = chunk.used;
    let at = before;
    for (const part of parts) at = putText(chunk.memory, at, part);
    chunk.memory[at++] = LF;
    chunk.used = at;
    chunk.lines++;
    this.#waitingBytes += at - before;
    if (this.#waitingBytes > (this.#options.maxWaiting ?? MAX_WAITING)) this.#dropOlder();
    this.#running ??= new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS)).then(() => this.#drain());
  }

  async flush(): Promise<void> {
    const isOver = new AbortController();
    const timeUp = delay(FLUSH_MS, isOver.signal).then(() => isOver.abort());
    while (this.#running !== null && !isOver.signal.aborted) await Promise.race([this.#running, timeUp]);
    isOver.abort();
  }

  #chunkFor(size: number): Chunk {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.memory.length - last.used >= size) return last;
    const chunk = { memory: acquireBuffer(Math.max(size, LARGE)), used: 0, lines: 0 };
    this.#waiting.push(chunk);
    return chunk;
  }

  #dropOlder(): void {
    const bytes = this.#waitingBytes;
    while (this.#waitingBytes > bytes / 2 && this.#waiting.length > 1) {
      const { memory, lines } = this.#take();
      releaseBuffer(memory);
      this.#dropped += lines;
    }
  }

  /** Removes the oldest chunk. */
  #take(): Chunk {
    const [chunk] = this.#waiting.splice(0, 1);
    this.#waitingBytes -= chunk.used;
    return chunk;
  }

  async #drain(): Promise<void> {
    const { describeDropped = describeLeftOut } = this.#options;
    while (this.#waiting.length > 0 && !this.#isBroken) {
      const told = this.#dropped, chunk = this.#take();
      this.#dropped = 0;
      const lines = chunk.memory.subarray(0, chunk.used);
      try {
        await this.#output(told === 0 ? lines : join(ENCODER.encode(`${describeDropped(told)}\n`), lines));
      } catch (error) {
        this.#dropped += told;
        this.#fail(error, chunk);
      }
      releaseBuffer(chunk.memory);
    }
    this.#running = null;
  }

  #fail(error: unknown, { lines }: Chunk): void {
    if (this.#options.retries) return void (this.#dropped += lines);
    this.#isBroken = true;
    for (const { memory } of this.#waiting.splice(0)) releaseBuffer(memory);
    this.#options.onBroken?.(error instanceof Error ? error.message : String(error));
  }
}

const ENCODER = new TextEncoder();
/** Maximum bytes per character. */
const MAX_UTF8 = 3;
const LF = 0x0a;
/** Below this length, a loop is faster than the runtime's encoder. */
const SHORT = 64;

/** Writes text in UTF-8, and returns its end. */
function putText(into: Uint8Array, at: number, text: string): number {
  let index = 0;
  if (text.length < SHORT) {
    for (; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) break;
      into[at + index] = code;
    }
    if (index === text.length) return at + index;
  }
  return at + index + ENCODER.encodeInto(text.slice(index), into.subarray(at + index)).written;
}

function join(head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + rest.length);
  bytes.set(head);
  bytes.set(rest, head.length);
  return bytes;
}

const describeLeftOut = (count: number): string => `(${count} lines were left out: the output is read too slowly)`;
