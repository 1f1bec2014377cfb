import { copyBytes } from "./bytes.ts";
import { END, FrameType, writeU16, writeU32 } from "./frames.ts";
import { FRAME_HEAD, MAX_REASON } from "./limits.ts";
import type { Outbox } from "./outbox.ts";

/** Writes frames, straight into the message that an outbox gathers. */
export class FrameWriter {
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Any frame. */
  put(type: FrameType, flags: number, stream: number, payload: Uint8Array): void {
    const outbox = this.#outbox;
    outbox.reserve(payload.length);
    outbox.buffer.set(payload, outbox.used + FRAME_HEAD);
    outbox.commit(payload.length, type, flags, stream);
  }

  /**
   * REQUEST.
   * @param head the block as bytes, or as text: its line then travels in UTF-8, as visitors' targets are, its fields in
   * Latin-1 (RFC 9110, section 5.5)
   */
  putRequest(flags: number, stream: number, head: Uint8Array | string): void {
    if (typeof head !== "string") return this.put(FrameType.request, flags, stream, head);
    const outbox = this.#outbox;
    outbox.reserve(head.length);
    const at = outbox.used + FRAME_HEAD;
    const { read, written } = ENCODER.encodeInto(head, outbox.buffer.subarray(at, at + head.length));
    // Equal only when every character took one byte: then both encodings are the same.
    if (read === head.length && written === head.length) outbox.commit(written, FrameType.request, flags, stream);
    else this.put(FrameType.request, flags, stream, encodeHead(head));
  }

  /** RESPONSE. */
  putResponse(
    stream: number,
    status: number,
    head: Uint8Array,
    headStart: number,
    headEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void {
    const outbox = this.#outbox;
    const headSize = headEnd - headStart, size = 4 + headSize + bodyEnd - bodyStart;
    outbox.reserve(size);
    const at = outbox.used + FRAME_HEAD;
    writeU16(outbox.buffer, at, status);
    writeU16(outbox.buffer, at + 2, headSize);
    copyBytes(head, headStart, headEnd, outbox.buffer, at + 4);
    copyBytes(body, bodyStart, bodyEnd, outbox.buffer, at + 4 + headSize);
    outbox.commit(size, FrameType.response, end ? END : 0, stream);
  }

  /** RESET, CLOSE or GOAWAY. */
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

function encodeHead(text: string): Uint8Array {
  const lineEnd = text.indexOf("\r\n");
  const line = ENCODER.encode(text.slice(0, lineEnd));
  const bytes = new Uint8Array(line.length + text.length - lineEnd);
  bytes.set(line);
  for (let i = lineEnd; i < text.length; i++) bytes[line.length + i - lineEnd] = text.charCodeAt(i);
  return bytes;
}
