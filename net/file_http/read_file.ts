import fs from "node:fs";
import process from "node:process";
import { readFully } from "./read_fully.ts";
import type { FileSource } from "./file_source.ts";

/** Whether the system tells where a descriptor leads, by a path that can be worked on. */
export const HAS_PROC: boolean = process.platform === "linux" && fs.existsSync("/proc/self/fd");

/** Bytes read at once for a streamed answer: below it the cost of each step shows, above it only memory grows. */
const PIECE = 512 * 1024;

/** Reads a part of a file at once. The file may have become shorter: then the result is too. */
export function readBytes(file: FileSource, start: number, length: number): Uint8Array<ArrayBuffer> {
  if (file.content !== undefined) return file.content.subarray(start, start + length);
  const bytes = new Uint8Array(length);
  const filled = readFully(file.fd, bytes, start);
  return filled === length ? bytes : bytes.subarray(0, filled);
}

/**
 * A stream of a part of a file that takes ownership of the file: it is closed at the end, on failure and on cancel.
 * Errors when the file turns out shorter than it was, since the length has been announced by then.
 * @param isDirect whoever reads is done with each piece before asking for the next, whose memory may be the same again
 */
export function streamFile(
  file: FileSource,
  start: number,
  length: number,
  isDirect: boolean,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let position = start;
  const stop = start + length;
  // One piece is sent while the next is read.
  const memories = isDirect ? [newPiece(length), newPiece(length)] : [];
  let isReading = false;
  let isCanceled = false;

  async function pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    isReading = true;
    try {
      const memory = memories.shift() ?? newPiece(stop - position);
      if (isDirect) memories.push(memory);
      const bytes = await readPiece(file.fd, position, memory.subarray(0, stop - position));
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
    // A number that is closed under a running read could by then be another file's.
    if (!isReading) file.close();
  }

  return new ReadableStream({ pull, cancel }, { highWaterMark: 1 });
}

/** A part of a file in large pieces, for who keeps the file. Ends early when the file has become shorter. */
export async function* readPieces(
  file: FileSource,
  start: number,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const stop = start + length;
  for (let position = start; position < stop;) {
    const bytes = await readPiece(file.fd, position, newPiece(stop - position));
    if (bytes.length === 0) return;
    position += bytes.length;
    yield bytes;
  }
}

function newPiece(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Math.min(PIECE, length));
}

function readPiece(fd: number, position: number, into: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    fs.read(fd, into, 0, into.length, position, (error, count) => {
      if (error) reject(error);
      else resolve(into.subarray(0, count));
    });
  });
}
