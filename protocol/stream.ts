import { INITIAL_WINDOW, MAX_PIECE, MAX_WINDOW } from "./limits.ts";
import { END, FrameType, MORE, ProtocolError, TEXT } from "./frames.ts";
import { ResetReason } from "./reasons.ts";
import type { FrameWriter } from "./frame_writer.ts";
import type { Outbox } from "./outbox.ts";

/** What happens on a stream, told to its user. Byte views are parts of the message: whoever owns that
 * says for how long they are good. */
export interface StreamHandler {
  /** The answer's head and the body bytes that came with it: views into `frame`. Relay only. */
  onResponse?(
    status: number,
    frame: Uint8Array,
    headStart: number,
    headEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void;
  /** A piece of body. Tell {@link MuxStream.consumed} when it has been passed on. */
  onData(piece: Uint8Array, end: boolean): void;
  /** A piece of a WebSocket message; `more` says that the message goes on. Tell {@link MuxStream.consumed}. */
  onMessage(piece: Uint8Array, text: boolean, more: boolean): void;
  /** The session's beat, about once a second. */
  onBeat?(): void;
  /** The WebSocket closed properly; the stream has ended. */
  onClose(code: number, reason: string): void;
  /** The stream ended before its time. */
  onReset(reason: ResetReason, text: string): void;
}

/** What a stream asks of the session it belongs to. */
export interface StreamSession {
  readonly outbox: Outbox;
  readonly frames: FrameWriter;
  /** Milliseconds. */
  readonly now: () => number;
  /** Takes up to `wanted` bytes of the session's budget for window growth, and says how many. */
  takeGrowth(wanted: number): number;
  /** This stream has ended. */
  forget(stream: MuxStream): void;
}

/** Thrown by writes on a stream that has ended. */
export class StreamEnded extends Error {
  override name = "StreamEnded";
  readonly reason: ResetReason;

  constructor(reason: ResetReason) {
    super("the stream has ended");
    this.reason = reason;
  }
}

/**
 * One visitor request inside a session. Both directions end on their own; when both have, or after a reset or a
 * WebSocket close, the stream is gone. Sending is paced by the peer's credit, receiving by {@link consumed}.
 */
export class MuxStream {
  readonly id: number;
  handler: StreamHandler;
  /** Turns of the session's idle clock since anything moved. */
  idleTurns = 0;
  /** Why the stream is over, or null while it lives. */
  ended: ResetReason | null = null;
  localEnded = false;
  /** Whether the RESPONSE has passed; on the client that is so from the start, as nothing is due from the relay first. */
  answered = false;
  remoteEnded = false;
  /** Status of the answer, 0 before it. */
  status = 0;
  /** Bytes of heads and bodies carried, both directions. */
  carried = 0;
  /** For the session's table of streams. */
  next: MuxStream | null = null;
  /** Called once when the stream has ended, however it did. */
  onFinish: (() => void) | null = null;
  readonly #mux: StreamSession;
  #sendCredit = INITIAL_WINDOW;
  /** Bytes the peer may still send. */
  #allowance = INITIAL_WINDOW;
  #window = INITIAL_WINDOW;
  /** Bytes passed on that the peer has not been told of. */
  #ungranted = 0;
  #lastGrant = 0;
  #wake: (() => void) | null = null;

  constructor(mux: StreamSession, id: number, handler: StreamHandler) {
    this.#mux = mux;
    this.id = id;
    this.handler = handler;
  }

  /** Bytes that may be sent now. */
  get room(): number {
    return this.#mux.outbox.full ? 0 : Math.min(this.#sendCredit, MAX_PIECE);
  }

  /** Window growth that this stream holds of its session's budget, in bytes. */
  get growth(): number {
    return this.#window - INITIAL_WINDOW;
  }

  /**
   * Waits until at least one byte may be sent. One waiter at a time.
   * @throws StreamEnded when the stream ends first
   */
  async whenRoom(): Promise<void> {
    while (this.ended === null && this.room === 0) {
      if (this.#sendCredit > 0) await this.#mux.outbox.whenRoom();
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.ended !== null) throw new StreamEnded(this.ended);
  }

  /**
   * Sends the answer's head with the body bytes that are there already, in one frame. Client only. No effect when the
   * stream has ended. Give no more body than {@link room}, and wait for {@link whenRoom} when that is 0.
   * @param head field lines, `head[headStart, headEnd)`; likewise the body
   * @param end whether the body is complete with this
   */
  respond(
    status: number,
    head: Uint8Array,
    headStart: number,
    headEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void {
    if (this.ended !== null) return;
    this.status = status;
    this.idleTurns = 0;
    this.carried += headEnd - headStart + bodyEnd - bodyStart;
    this.#sendCredit -= bodyEnd - bodyStart;
    this.#mux.frames.putResponse(this.id, status, head, headStart, headEnd, body, bodyStart, bodyEnd, end);
    if (end) this.#endLocal();
  }

  /**
   * Sends body bytes, split into frames as credit allows. When it resolves they have been copied.
   * @param end whether this was the last of the body
   * @throws StreamEnded when the stream ends first
   */
  async write(bytes: Uint8Array, end = false): Promise<void> {
    let at = 0;
    while (at < bytes.length) {
      // Others that waited for the same room may have taken it by the time this goes on.
      while (this.room === 0 || this.ended !== null) await this.whenRoom();
      const size = Math.min(bytes.length - at, this.room);
      at += size;
      this.#put(FrameType.data, end && at === bytes.length ? END : 0, bytes.subarray(at - size, at));
    }
    if (end && bytes.length === 0) this.end();
    else if (end) this.#endLocal();
  }

  /** Ends this side's body. No effect when it has ended. */
  end(): void {
    if (this.ended !== null || this.localEnded) return;
    this.#mux.frames.put(FrameType.data, END, this.id, EMPTY);
    this.#endLocal();
  }

  /**
   * Sends one WebSocket message, split into frames as credit allows.
   * @param last false when the message goes on in the next call
   * @throws StreamEnded when the stream ends first
   */
  async writeMessage(bytes: Uint8Array, text: boolean, last = true): Promise<void> {
    let at = 0;
    do {
      // Empty ones wait too: they cost no credit, and whoever sends many must not fill the outbox.
      while (this.room === 0 || this.ended !== null) await this.whenRoom();
      const size = Math.min(bytes.length - at, this.room);
      at += size;
      const flags = (text ? TEXT : 0) | (last && at === bytes.length ? 0 : MORE);
      this.#put(FrameType.message, flags, bytes.subarray(at - size, at));
    } while (at < bytes.length);
  }

  /** Closes the WebSocket and ends the stream. No effect when it has ended. */
  closeWebSocket(code: number, reason: string): void {
    if (this.ended !== null) return;
    this.#mux.frames.putReason(FrameType.close, this.id, code, reason);
    this.finish(ResetReason.none);
  }

  /** Ends the stream at once, both ways, and tells the peer. No effect when it has ended. */
  reset(reason: ResetReason, text = ""): void {
    if (this.ended !== null) return;
    this.#mux.frames.putReason(FrameType.reset, this.id, reason, text);
    this.finish(reason);
  }

  /** Says that `bytes` received bytes have been passed on, which lets the peer send as many more. */
  consumed(bytes: number): void {
    this.#ungranted += bytes;
    if (this.ended !== null || this.remoteEnded || this.#ungranted < this.#window / 2) return;
    const now = this.#mux.now();
    // A reader that takes half a window within a moment is held up by the window, not by itself: let it grow.
    const keepsUp = now - this.#lastGrant < GROW_WITHIN_MS;
    const growth = keepsUp ? this.#mux.takeGrowth(Math.min(this.#window, MAX_WINDOW - this.#window)) : 0;
    this.#lastGrant = now;
    this.#window += growth;
    const grant = this.#ungranted + growth;
    this.#ungranted = 0;
    this.#allowance += grant;
    this.#mux.frames.putCredit(this.id, grant);
  }

  /** For the mux: credit arrived. */
  addCredit(bytes: number): void {
    this.#sendCredit += bytes;
    if (this.#sendCredit > 2 * MAX_WINDOW) throw new ProtocolError(`stream ${this.id} was given too much credit`);
    this.#wakeWriter();
  }

  /** For the mux: `bytes` of body or message arrived. */
  take(bytes: number): void {
    this.#allowance -= bytes;
    this.carried += bytes;
    if (this.#allowance < 0) throw new ProtocolError(`stream ${this.id} received more than it gave credit for`);
  }

  /** For the mux: the peer's direction is complete. */
  endRemote(): void {
    this.remoteEnded = true;
    if (this.localEnded) this.finish(ResetReason.none);
  }

  /** Forgets the stream without telling the peer. */
  finish(reason: ResetReason): void {
    if (this.ended !== null) return;
    this.ended = reason;
    this.#mux.forget(this);
    this.#wakeWriter();
    this.onFinish?.();
  }

  #put(type: FrameType, flags: number, piece: Uint8Array): void {
    this.#sendCredit -= piece.length;
    this.carried += piece.length;
    this.#mux.frames.put(type, flags, this.id, piece);
    this.idleTurns = 0;
  }

  #endLocal(): void {
    this.localEnded = true;
    if (this.remoteEnded) this.finish(ResetReason.none);
  }

  #wakeWriter(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

const EMPTY = new Uint8Array(0);
const GROW_WITHIN_MS = 250;
