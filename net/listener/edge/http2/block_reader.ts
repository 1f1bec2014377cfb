import { HpackDecoder, HpackError, type OnField } from "../../../http2/hpack/mod.ts";
import { ConnectionError, ErrorCode, Flag, readU31, unpad } from "./frames.ts";

/** Bytes of a field block in all its frames. */
const MAX_BLOCK = 64 * 1024;
/** What HEADERS say of a priority, ahead of their block. */
const PRIORITY_SIZE = 5;

/** A field block that is whole. */
export interface Block {
  stream: number;
  endStream: boolean;
  bytes: Uint8Array;
}

/**
 * The field blocks of one connection: gathered from HEADERS and CONTINUATION (RFC 9113, section 4.3), and read in their
 * order, as each may change what the next ones mean.
 */
export class BlockReader {
  readonly #decoder = new HpackDecoder();
  /** Of a block of which more frames are to come. */
  #stream = 0;
  #endStream = false;
  #pieces: Uint8Array[] = [];
  #size = 0;

  /** The stream of a block of which more frames must come next, or 0. */
  get openStream(): number {
    return this.#stream;
  }

  /**
   * HEADERS on a stream, with the payload `bytes[start, end)`.
   * @returns the block, good as long as `bytes` are, or null where more of it is to come
   */
  begin(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): Block | null {
    let block = unpad(flags, bytes, start, end);
    if ((flags & Flag.priority) !== 0) {
      if (block.length < PRIORITY_SIZE) throw new ConnectionError(ErrorCode.frameSize, "HEADERS are cut short");
      // A block must be read even where its stream cannot be: the connection ends instead.
      if (readU31(block, 0) === stream) throw new ConnectionError(ErrorCode.protocol, "a stream depends on itself");
      block = block.subarray(PRIORITY_SIZE);
    }
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return { stream, endStream, bytes: block };
    this.#stream = stream;
    this.#endStream = endStream;
    this.#pieces = [Uint8Array.from(block)];
    this.#size = block.length;
    return null;
  }

  /** CONTINUATION, likewise. */
  goOn(flags: number, bytes: Uint8Array, start: number, end: number): Block | null {
    if (this.#stream === 0) throw new ConnectionError(ErrorCode.protocol, "CONTINUATION of nothing");
    this.#size += end - start;
    if (this.#size > MAX_BLOCK) throw new ConnectionError(ErrorCode.enhanceYourCalm, "a field block is too large");
    this.#pieces.push(bytes.slice(start, end));
    if ((flags & Flag.endHeaders) === 0) return null;
    const whole = new Uint8Array(this.#size);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    const block = { stream: this.#stream, endStream: this.#endStream, bytes: whole };
    this.#stream = 0;
    this.#pieces = [];
    return block;
  }

  /** Reads a block, which must be done whatever becomes of its stream. @throws ConnectionError when it cannot be read */
  read({ bytes }: Block, onField: OnField): void {
    try {
      this.#decoder.decode(bytes, 0, bytes.length, onField);
    } catch (error) {
      if (!(error instanceof HpackError)) throw error;
      throw new ConnectionError(ErrorCode.compression, error.message);
    }
  }
}
