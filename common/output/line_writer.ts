import { acquireBuffer, LARGE, releaseBuffer } from "../buffers/buffer_pool.ts";
import { delay } from "../delay.ts";
import type { Output } from "./output.ts";

/** Writes lines, many at once when they come fast. */
export interface LineWriter {
  /** Takes one line without its newline, in parts: to join them would cost as much as all else. Nobody waits for it. */
  write(...parts: readonly string[]): void;
  /** Resolves when everything has been handed to the system, or when nobody takes it. */
  flush(): Promise<void>;
}

/** What happens when an output is slow or gone. */
export interface LineWriterOptions {
  /** The line that stands for `count` lines which were left out because the output is read too slowly. */
  describeDropped?(count: number): string;
  /** The output takes no more: its reader has gone, or its disk is full. Told once. */
  onBroken?(reason: string): void;
  /** Bytes kept while the output is slow; 8 MiB when left out. */
  maxWaiting?: number;
  /** An output that failed is tried again with the next lines; those that failed count as left out. */
  retries?: boolean;
}

/** Beyond it the older half is dropped and counted. */
const MAX_WAITING = 8 * 1024 * 1024;
const GATHER_MS = 50;

/** How long the end of the program waits for a reader that takes nothing. */
const FLUSH_MS = 2000;

/** A writer over an output. One that fails is left alone from then on, or retried: nobody ends with their log. */
export function openLineWriter(output: Output, options: LineWriterOptions = {}): LineWriter {
  return new OutputLines(output, options);
}

/** Whole lines, as they will be written: `memory[0, used)`. */
interface Chunk {
  readonly memory: Uint8Array<ArrayBuffer>;
  used: number;
  lines: number;
}

class OutputLines implements LineWriter {
  readonly #output: Output;
  readonly #options: LineWriterOptions;
  /** The oldest first; the last one is being filled. */
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

  /** The oldest. */
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
/** Bytes that a character takes at most. */
const MAX_UTF8 = 3;
const LF = 0x0a;
/** Below this many characters a loop beats the runtime's encoder. */
const SHORT = 64;

/** Writes text in UTF-8, and returns where it ends. */
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
