import fs, { type Stats } from "node:fs";
import process from "node:process";

/** An open file for a response. */
export interface FileSource {
  readonly fd: number;
  readonly stat: Stats;
  /** All bytes, if they are in memory. The file then has no descriptor. */
  readonly content?: Uint8Array<ArrayBuffer>;
  /** The media type with its charset, once it is known. */
  type?: string;
  /** Whether no charset is likely for the text. */
  isCharsetUnknown?: boolean;
  /** Compressed forms of `content`. */
  coded?: Map<string, Uint8Array<ArrayBuffer>>;
  /** Closes the file. Another call has no effect. */
  close(): void;
}

/** The request properties that decide the response. A `Request` has them. */
export interface FileRequest {
  readonly method: string;
  readonly headers: FieldReader;
}

/** Request fields by name. */
export interface FieldReader {
  get(name: string): string | null;
}

/** Whether this runtime is Deno. */
export const IS_DENO: boolean = typeof Deno === "object";
/** Whether the system provides a usable path for each descriptor. */
export const HAS_PROC: boolean = process.platform === "linux" && fs.existsSync("/proc/self/fd");

/** Bytes in one stream read. Smaller reads cost more steps; larger ones cost memory without effect. */
const CHUNK = 512 * 1024;

/** Fills `into` with a file's bytes from `position` on. Returns their number, which is smaller at the file's end. */
export function readFully(fd: number, into: Uint8Array, position: number): number {
  let filled = 0;
  while (filled < into.length) {
    const count = fs.readSync(fd, into, filled, into.length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/** Reads a file part at once. The result is shorter if the file has become shorter. */
export function readBytes(file: FileSource, start: number, length: number): Uint8Array<ArrayBuffer> {
  if (file.content !== undefined) return file.content.subarray(start, start + length);
  const bytes = new Uint8Array(length);
  const filled = readFully(file.fd, bytes, start);
  return filled === length ? bytes : bytes.subarray(0, filled);
}

/**
 * Streams a file part and closes the file at the end, on failure and on cancel. The stream fails if the file has
 * become shorter, because the response already contains its length.
 * @param isDirect the reader finishes with each chunk before it requests the next, so two buffers are enough
 */
export function streamFile(
  file: FileSource,
  start: number,
  length: number,
  isDirect: boolean,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let position = start;
  const stop = start + length;
  // One buffer is sent while the other is filled.
  const buffers = isDirect ? [newChunk(length), newChunk(length)] : [];
  let isReading = false;
  let isCanceled = false;

  async function pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    isReading = true;
    try {
      const buffer = buffers.shift() ?? newChunk(stop - position);
      if (isDirect) buffers.push(buffer);
      const bytes = await readChunk(file.fd, position, buffer.subarray(0, stop - position));
      if (isCanceled) return;
      position += bytes.length;
      if (bytes.length === 0) throw new Error("the file became shorter while it was sent");
      controller.enqueue(bytes);
      if (position === stop) controller.close();
    } catch (error) {
      isCanceled = true;
      throw error;
    } finally {
      isReading = false;
      if (isCanceled || position === stop) file.close();
    }
  }

  function cancel(): void {
    isCanceled = true;
    // After close another file may get the same descriptor, and a running read would use it.
    if (!isReading) file.close();
  }

  return new ReadableStream({ pull, cancel }, { highWaterMark: 1 });
}

/** Yields a file part in large chunks and leaves the file open. Ends early if the file has become shorter. */
export async function* readPieces(
  file: FileSource,
  start: number,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const stop = start + length;
  for (let position = start; position < stop;) {
    const bytes = await readChunk(file.fd, position, newChunk(stop - position));
    if (bytes.length === 0) return;
    position += bytes.length;
    yield bytes;
  }
}

/**
 * Returns a stream of a generator's chunks, each produced on request. Cancel ends the generator.
 * @param first a chunk that precedes the others
 * @param onCancel runs after the generator has ended; a generator that never began skips its own cleanup
 */
export function streamPieces<Memory extends ArrayBufferLike>(
  chunks: AsyncGenerator<Uint8Array<Memory>, void>,
  first?: Uint8Array<Memory>,
  onCancel?: () => void,
): ReadableStream<Uint8Array<Memory>> {
  return new ReadableStream({
    start(controller) {
      if (first !== undefined && first.length > 0) controller.enqueue(first);
    },
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
      onCancel?.();
    },
  }, { highWaterMark: 0 });
}

function newChunk(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Math.min(CHUNK, length));
}

function readChunk(fd: number, position: number, into: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    fs.read(fd, into, 0, into.length, position, (error, count) => {
      if (error) reject(error);
      else resolve(into.subarray(0, count));
    });
  });
}
