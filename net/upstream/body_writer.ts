import { checkFieldLines, FieldSyntaxError } from "../http1/mod.ts";
import { BodyLengthError, ConnectionBroken, type OutgoingFraming } from "./types.ts";
import { type QueueWriter, WriteQueue } from "./write_queue.ts";

/** Whoever a {@link BodyWriter} works for. */
export interface BodyOwner {
  /** So many bytes of the body have left: there may be as many more. */
  onBodyWritten(bytes: number): void;
  /** The body has been written to its end. */
  onBodyComplete?(): void;
  /** Nothing more can be sent: a write failed, or the body is not what the head said. */
  onBodyFailed(error: ConnectionBroken | BodyLengthError): void;
}

/** Writes a request's head and its body, piece by piece and in order, framed as the head says and held to its length. */
export class BodyWriter {
  /** The body has been written to its end. */
  complete = false;
  readonly #owner: BodyOwner;
  readonly #chunked: boolean;
  readonly #queue: WriteQueue;
  /** Bytes that the body still has; Infinity where it has no length. */
  #left: number;
  #ended = false;

  constructor(framing: OutgoingFraming, owner: BodyOwner) {
    this.#owner = owner;
    this.#chunked = framing === "chunked";
    this.#left = framing === "chunked" ? Infinity : framing === "none" ? 0 : framing.length;
    this.#queue = new WriteQueue(
      (bytes) => owner.onBodyWritten(bytes),
      (cause) => owner.onBodyFailed(new ConnectionBroken("the connection broke", { cause })),
      () => this.#onDrained(),
    );
  }

  /** Its end is being written: `onBodyComplete`, or `onBodyFailed`, comes as soon as that is done. */
  get isLeaving(): boolean {
    return this.#ended && this.#queue.isLeaving;
  }

  /** Writes the head, and what there is of the body behind it. */
  start(writer: QueueWriter, head: Uint8Array): void {
    this.#queue.start(writer, head);
  }

  /** Takes a piece, which is copied. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#left -= piece.length;
    if (this.#left < 0) {
      return this.#owner.onBodyFailed(new BodyLengthError("the body is longer than its Content-Length"));
    }
    if (this.#chunked) this.#queue.push(ENCODER.encode(`${piece.length.toString(16)}\r\n`), 0);
    this.#queue.push(piece, piece.length);
    if (this.#chunked) this.#queue.push(LINE_END, 0);
  }

  /**
   * The body is complete. What is wrong with it is told to the owner, and not thrown.
   * @param trailers field lines that follow it: where the framing has no place for them they end here
   */
  finish(trailers: Uint8Array = NOTHING): void {
    if (!this.#chunked && this.#left > 0) {
      return this.#owner.onBodyFailed(new BodyLengthError("the body is shorter than its Content-Length"));
    }
    if (!isWellFormed(trailers)) return this.#owner.onBodyFailed(new BodyLengthError("malformed trailers"));
    this.#ended = true;
    if (this.#chunked) {
      this.#queue.push(LAST_CHUNK, 0);
      this.#queue.push(trailers, 0);
      this.#queue.push(LINE_END, 0);
    } else if (this.#queue.isEmpty) this.#onDrained();
  }

  #onDrained(): void {
    if (!this.#ended) return;
    this.complete = true;
    this.#owner.onBodyComplete?.();
  }
}

function isWellFormed(trailers: Uint8Array): boolean {
  try {
    checkFieldLines(trailers, 0, trailers.length);
    return true;
  } catch (error) {
    if (error instanceof FieldSyntaxError) return false;
    throw error;
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const LINE_END = ENCODER.encode("\r\n");
const LAST_CHUNK = ENCODER.encode("0\r\n");
