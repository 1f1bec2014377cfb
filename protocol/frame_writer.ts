import { copyBytes } from "./bytes.ts";
import { END, FrameType, writeU16, writeU32 } from "./frames.ts";
import { FRAME_HEAD, MAX_HEAD, MAX_REASON } from "./limits.ts";
import type { Outbox } from "./outbox.ts";

/**
 * Writes a request's head straight into the message that leaves: request line, `host` line, other field lines, blank
 * line, each with its CRLF.
 */
export interface HeadWriter {
  /** The most that {@link writeHead} writes, in bytes. */
  readonly headSize: number;
  /** Writes the head from `into[at]` on. Returns the offset behind it. */
  writeHead(into: Uint8Array, at: number): number;
}

/** Writes frames, straight into the message that an outbox gathers. */
export class FrameWriter {
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Any frame. Its payload is `bytes[start, end)`. */
  put(type: FrameType, flags: number, stream: number, bytes: Uint8Array, start: number, end: number): void {
    const outbox = this.#outbox, size = end - start;
    outbox.reserve(size);
    copyBytes(bytes, start, end, outbox.buffer, outbox.used + FRAME_HEAD);
    outbox.commit(size, type, flags, stream);
  }

  /**
   * REQUEST.
   * @returns the bytes of the head
   * @throws RangeError when the head is larger than `MAX_HEAD`; nothing is sent then
   */
  putRequest(flags: number, stream: number, head: HeadWriter): number {
    const outbox = this.#outbox;
    outbox.reserve(head.headSize);
    const at = outbox.used + FRAME_HEAD;
    const size = head.writeHead(outbox.buffer, at) - at;
    if (size > MAX_HEAD || size > head.headSize) throw new RangeError(`a head of ${size} bytes is too large`);
    outbox.commit(size, FrameType.request, flags, stream);
    return size;
  }

  /** RESPONSE. */
  putResponse(
    stream: number,
    status: number,
    block: Uint8Array,
    blockStart: number,
    blockEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void {
    const outbox = this.#outbox;
    const blockSize = blockEnd - blockStart, size = 4 + blockSize + bodyEnd - bodyStart;
    outbox.reserve(size);
    const at = outbox.used + FRAME_HEAD;
    writeU16(outbox.buffer, at, status);
    writeU16(outbox.buffer, at + 2, blockSize);
    copyBytes(block, blockStart, blockEnd, outbox.buffer, at + 4);
    copyBytes(body, bodyStart, bodyEnd, outbox.buffer, at + 4 + blockSize);
    outbox.commit(size, FrameType.response, end ? END : 0, stream);
  }

  /** RESET or GOAWAY. */
  putReason(type: FrameType, stream: number, code: number, text: string): void {
    const outbox = this.#outbox;
    outbox.reserve(2 + MAX_REASON);
    const at = outbox.used + FRAME_HEAD;
    writeU16(outbox.buffer, at, code);
    const { written } = ENCODER.encodeInto(text, outbox.buffer.subarray(at + 2, at + 2 + MAX_REASON));
    outbox.commit(2 + written, type, 0, stream);
  }

  /** CREDIT. */
  putCredit(stream: number, bytes: number): void {
    this.#outbox.reserve(4);
    writeU32(this.#outbox.buffer, this.#outbox.used + FRAME_HEAD, bytes);
    this.#outbox.commit(4, FrameType.credit, 0, stream);
  }
}

const ENCODER = new TextEncoder();
