import { checkFieldLines, FieldSyntaxError } from "../../common/http1/mod.ts";
import type { MuxStream } from "../../protocol/mod.ts";
import { type QueueWriter, WriteQueue } from "./write_queue.ts";

/** How the body is framed on the way to the local service: by the length its head gives, or in chunks. */
export type BodyFraming = { length: number } | "chunked";

/** The body is not as long as its head says: passing it on would desynchronise the connection. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}

/**
 * Passes a request's body on to the local service, piece by piece and in order. Only what is written gives credit back
 * to the relay.
 */
export class RequestBody {
  /** The body has been written to its end. */
  complete = false;
  readonly #stream: MuxStream;
  readonly #chunked: boolean;
  readonly #failed: (error: unknown) => void;
  #left: number;
  #ended = false;
  /** What came before the request's head could be written. */
  #early: { bytes: Uint8Array; credit: number }[] | null = [];
  #queue: WriteQueue | null = null;

  /** @param failed called when a piece cannot be written, or is more or less than the head said */
  constructor(stream: MuxStream, framing: BodyFraming, failed: (error: unknown) => void) {
    this.#stream = stream;
    this.#chunked = framing === "chunked";
    this.#left = framing === "chunked" ? Infinity : framing.length;
    this.#failed = failed;
  }

  /** Takes a piece from the relay; it is copied. */
  push(piece: Uint8Array, end: boolean): void {
    if (piece.length > 0) this.#take(piece);
    if (end) this.#finish(NOTHING);
  }

  /** The body is complete, and these field lines follow it: where the framing has no place for them they end here. */
  endWith(trailers: Uint8Array): void {
    try {
      checkFieldLines(trailers, 0, trailers.length);
    } catch (error) {
      return this.#failed(error instanceof FieldSyntaxError ? new BodyLengthError("malformed trailers") : error);
    }
    this.#finish(trailers);
  }

  /** Writes the request's head, and what there is of the body behind it. */
  start(writer: QueueWriter, head: Uint8Array): void {
    this.#queue = new WriteQueue(
      writer,
      (bytes) => this.#stream.consumed(bytes),
      this.#failed,
      () => this.complete = this.#ended,
    );
    this.#queue.push(head, 0);
    for (const { bytes, credit } of this.#early ?? []) this.#queue.push(bytes, credit);
    this.#early = null;
  }

  #take(piece: Uint8Array): void {
    this.#left -= piece.length;
    if (this.#left < 0) return this.#failed(new BodyLengthError("the body is longer than its Content-Length"));
    if (this.#chunked) this.#put(ENCODER.encode(`${piece.length.toString(16)}\r\n`), 0);
    this.#put(piece, piece.length);
    if (this.#chunked) this.#put(LINE_END, 0);
  }

  #finish(trailers: Uint8Array): void {
    if (!this.#chunked && this.#left > 0) {
      return this.#failed(new BodyLengthError("the body is shorter than its Content-Length"));
    }
    this.#ended = true;
    if (this.#chunked) this.#put(LAST_CHUNK, 0);
    if (this.#chunked && trailers.length > 0) this.#put(trailers, 0);
    if (this.#chunked) this.#put(LINE_END, 0);
    else if (this.#queue?.isEmpty) this.complete = true;
  }

  #put(bytes: Uint8Array, credit: number): void {
    if (this.#queue !== null) this.#queue.push(bytes, credit);
    else this.#early!.push({ bytes: bytes.slice(), credit });
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const LINE_END = ENCODER.encode("\r\n");
const LAST_CHUNK = ENCODER.encode("0\r\n");
