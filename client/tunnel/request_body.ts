import { keepView, releaseMessage } from "../../common/message_memory.ts";
import type { MuxStream } from "../../protocol/mod.ts";

/** Where a request's body goes. */
export interface BodyWriter {
  write(bytes: Uint8Array): Promise<void>;
}

/** How the body is framed on the way to the local service: by the length its head gives, or in chunks. */
export type BodyFraming = { length: number } | "chunked";

/** The body is not as long as its head says: passing it on would desynchronise the connection. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}

/**
 * Passes a request's body on to the local service, piece by piece and in order. Pieces wait here while a write is
 * under way, and only what is written gives credit back to the relay.
 */
export class RequestBody {
  /** The body has been written to its end. */
  complete = false;
  readonly #stream: MuxStream;
  readonly #chunked: boolean;
  #left: number;
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #ended = false;
  #writer: BodyWriter | null = null;
  #writing = false;
  #failed: (error: unknown) => void;

  /** @param failed called when a piece cannot be written, or is more or less than the head said */
  constructor(stream: MuxStream, framing: BodyFraming, failed: (error: unknown) => void) {
    this.#stream = stream;
    this.#chunked = framing === "chunked";
    this.#left = framing === "chunked" ? Infinity : framing.length;
    this.#failed = failed;
  }

  /** Takes a piece from the relay. */
  push(piece: Uint8Array<ArrayBuffer>, end: boolean): void {
    if (piece.length > 0) this.#pieces.push(keepView(piece));
    this.#ended = end;
    if (this.#writer !== null && !this.#writing) this.#drain(this.#writer);
  }

  /** The request's head has been written: pieces may follow. */
  start(writer: BodyWriter): void {
    this.#writer = writer;
    if (this.#pieces.length > 0 || this.#ended) this.#drain(writer);
  }

  async #drain(writer: BodyWriter): Promise<void> {
    this.#writing = true;
    try {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
        const size = piece.length;
        this.#left -= size;
        if (this.#left < 0) throw new BodyLengthError("the body is longer than its Content-Length");
        const written = this.#chunked ? frameChunk(piece) : piece;
        await writer.write(written);
        releaseMessage(written);
        this.#stream.consumed(size);
      }
      if (this.#ended) await this.#finish(writer);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#writing = false;
    }
  }

  async #finish(writer: BodyWriter): Promise<void> {
    if (!this.#chunked && this.#left > 0) throw new BodyLengthError("the body is shorter than its Content-Length");
    if (this.#chunked) await writer.write(LAST_CHUNK);
    this.complete = true;
  }
}

const ENCODER = new TextEncoder();
const LAST_CHUNK = ENCODER.encode("0\r\n\r\n");

/** One chunk of the chunked coding (RFC 9112, section 7.1). */
function frameChunk(data: Uint8Array): Uint8Array {
  const size = ENCODER.encode(`${data.length.toString(16)}\r\n`);
  const chunk = new Uint8Array(size.length + data.length + 2);
  chunk.set(size);
  chunk.set(data, size.length);
  chunk[chunk.length - 2] = 0x0d;
  chunk[chunk.length - 1] = 0x0a;
  return chunk;
}
