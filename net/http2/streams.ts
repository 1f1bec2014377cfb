import type { Flood } from "./flood.ts";
import { ConnectionError, ErrorCode, Flag, FrameType, MAX_WINDOW, readU31, StreamError, unpad } from "./frames.ts";
import { type Block, BlockReader, RequestFields } from "./request_fields.ts";
import type { SendQueue } from "./send_queue.ts";
import { STREAM, type StreamEffect, type StreamEvent, type StreamState } from "./states.ts";
import { Stream, type StreamReceiver } from "./stream.ts";

/** Streams that one client may have open. */
export const MAX_STREAMS = 200;
/** The connection window: body bytes that may arrive before a handler reads. Streams have smaller windows. */
export const CONNECTION_WINDOW = 1024 * 1024;
/** Requests that begin before other connections get a turn. */
const MAX_BEGUN = 16;
/** Streams that this side reset and that may still get frames. Only the newest are stored. */
const MAX_RESET = 256;

/** The fields in the current block. One object serves all sessions, because decoding a block is synchronous. */
const fields = new RequestFields();

/** The session as its streams see it. */
export interface StreamsOwner {
  readonly output: SendQueue;
  readonly flood: Flood;
  /** Largest request head in bytes. */
  readonly maxHeadBytes: number;
  /** Whether the session accepts another request. */
  acceptsRequest(): boolean;
  /**
   * Creates the receiver for a new stream.
   * @param fields the request's fields, valid during the call only
   * @throws StreamError when they describe no request
   */
  openStream(stream: Stream, fields: RequestFields): StreamReceiver;
  /** Responds to a stream that is still open after all received frames were processed. */
  startStream(receiver: StreamReceiver): void;
  /** Reports that a stream began or ended. */
  onChange(): void;
  /** Reports that the last stream ended. */
  onIdle(): void;
}

/** All streams in a session: states, field blocks and flow control. */
export class Streams {
  readonly #owner: StreamsOwner;
  readonly #output: SendQueue;
  readonly #blocks = new BlockReader();
  readonly #streams = new Map<number, Stream>();
  /** Streams that the current bytes began. */
  readonly #begun: Stream[] = [];
  /** Identifiers of reset streams, oldest first. */
  readonly #reset = new Set<number>();
  /** The highest stream identifier, 0 before the first stream. */
  lastId = 0;
  /** Milliseconds of a monotonic clock, as the driver reported them last. */
  now = 0;
  /** Streams that began or were canceled since {@link startRound}. */
  #begunCount = 0;
  #canceledCount = 0;
  #allowance = CONNECTION_WINDOW;
  /** Consumed bytes that no WINDOW_UPDATE has returned yet. */
  #unacknowledged = 0;

  constructor(owner: StreamsOwner) {
    this.#owner = owner;
    this.#output = owner.output;
  }

  /** Open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether enough requests began in this round, so that other connections get a turn. */
  get isPaused(): boolean {
    return this.#begunCount === MAX_BEGUN;
  }

  /** Whether the client canceled most requests of the last round at once. */
  get isAbused(): boolean {
    return this.#canceledCount > MAX_BEGUN / 2;
  }

  /** Begins a round: one call with received bytes. */
  startRound(now: number): void {
    this.#begunCount = 0;
    this.now = now;
  }

  /** Starts the begun streams that are still open. A client that cancels them at once has a limit. */
  endRound(): void {
    this.#canceledCount = 0;
    for (const { state, receiver } of this.#begun.splice(0)) {
      if (receiver === null) continue;
      if (state !== "closed" && state !== "reset") this.#owner.startStream(receiver);
      else {
        this.#canceledCount++;
        if (this.#owner.flood.isOneTooMany(this.now)) {
          throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many canceled streams");
        }
      }
    }
  }

  /** Counts a second for every stream. */
  tick(): void {
    for (const { receiver } of this.#streams.values()) receiver?.onTick();
  }

  /** Queues a response field block. @param end no body follows */
  sendBlock(stream: Stream, block: Uint8Array, end: boolean): void {
    this.#output.putBlock(stream.id, block, end);
    if (end) this.endResponse(stream);
  }

  /**
   * Returns consumed body bytes to the windows of a stream and the connection.
   * @param waiting stream bytes that are received and not consumed yet
   */
  consume(stream: Stream, bytes: number, waiting: number, now: number): void {
    const more = stream.canReceive ? stream.consume(bytes, waiting, now) : 0;
    if (more > 0) this.#output.putNumber(FrameType.windowUpdate, stream.id, more);
    this.#consumeConnection(bytes);
  }

  /** Ends a stream in both directions and notifies the client. */
  reset(stream: Stream, code: ErrorCode): void {
    const { next, effect } = STREAM[stream.state].sentReset;
    if (effect !== "abort") return;
    this.#sendReset(stream.id, code);
    this.#endStream(stream, next);
  }

  /** Processes a DATA frame. */
  onData(id: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    const size = end - start, isEnd = (flags & Flag.endStream) !== 0;
    const stream = this.#streams.get(id);
    const { next, effect } = STREAM[this.#stateOf(id, stream)][isEnd ? "dataEnd" : "data"];
    checkConnection(effect, "DATA");
    this.#allowance -= size;
    if (this.#allowance < 0) throw new ConnectionError(ErrorCode.flowControl, "DATA beyond the connection's window");
    const body = unpad(flags, bytes, start, end);
    if (stream === undefined) return this.#consumeConnection(size);
    try {
      stream.allowance -= size;
      if (stream.allowance < 0) throw new StreamError(ErrorCode.flowControl, "DATA beyond the stream's window");
      checkStream(effect);
      stream.state = next;
      stream.receiver?.onData(body, size, isEnd);
    } catch (error) {
      // The stream ends, and the connection's window must not shrink.
      this.#consumeConnection(size);
      throw error;
    }
    if (next === "closed") this.#endStream(stream, next);
  }

  /** Processes a HEADERS frame. */
  onHeaders(id: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (id === 0) throw new ConnectionError(ErrorCode.protocol, "HEADERS on no stream");
    if (id > this.lastId && id % 2 === 0) throw new ConnectionError(ErrorCode.protocol, "an even stream");
    this.#onBlock(this.#blocks.begin(id, flags, bytes, start, end));
  }

  /** Processes a CONTINUATION frame. */
  onContinuation(flags: number, bytes: Uint8Array, start: number, end: number): void {
    this.#onBlock(this.#blocks.continue(flags, bytes, start, end));
  }

  /** Processes an RST_STREAM frame. */
  onReset(id: number, size: number): void {
    if (size !== 4) throw new ConnectionError(ErrorCode.frameSize, "RST_STREAM has another size");
    this.#applyToStream(id, "rstStream", "RST_STREAM");
  }

  /** Processes a WINDOW_UPDATE frame for a stream or, with identifier 0, for the connection. */
  onWindowUpdate(id: number, bytes: Uint8Array, start: number, end: number): void {
    if (end - start !== 4) throw new ConnectionError(ErrorCode.frameSize, "WINDOW_UPDATE has another size");
    const more = readU31(bytes, start), output = this.#output;
    if (id === 0) {
      if (more === 0) throw new ConnectionError(ErrorCode.protocol, "WINDOW_UPDATE of 0");
      output.window += more;
      if (output.window > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, "a window is too large");
      return output.wakeAll();
    }
    const stream = this.#applyToStream(id, "windowUpdate", "WINDOW_UPDATE");
    if (stream === null) return;
    if (more === 0) throw new StreamError(ErrorCode.protocol, "WINDOW_UPDATE of 0");
    stream.window += more;
    if (stream.window > MAX_WINDOW) throw new StreamError(ErrorCode.flowControl, "a window is too large");
    output.wake(stream);
  }

  /** Applies a frame's last INITIAL_WINDOW_SIZE once: each change costs a step for every open stream. */
  moveWindows(initialWindow: number): void {
    const output = this.#output, more = initialWindow - output.initialWindow;
    if (more === 0) return;
    output.initialWindow = initialWindow;
    for (const stream of this.#streams.values()) {
      stream.window += more;
      if (stream.window > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, "a window is too large");
      output.wake(stream);
    }
  }

  /** Ends a stream after a stream error. */
  onStreamError(id: number, code: ErrorCode): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) this.#sendReset(id, code);
    else this.reset(stream, code);
  }

  /** Ends the response: its last frame was queued. */
  endResponse(stream: Stream): void {
    const { next, effect } = STREAM[stream.state].sentEnd;
    if (effect !== "sent") return;
    stream.state = next;
    stream.receiver?.onSent();
    if (next === "closed") this.#endStream(stream, next);
  }

  /** Ends all streams, because the session or its connection ends. */
  endAll(): void {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) this.#endStream(stream, "closed");
  }

  /** Processes a complete field block: a request or trailers. Each block is decoded, because later blocks refer to it. */
  #onBlock(block: Block | null): void {
    if (block === null) return;
    const { stream: id, endStream } = block, stream = this.#streams.get(id);
    const { next, effect } = STREAM[this.#stateOf(id, stream)][endStream ? "headersEnd" : "headers"];
    fields.begin(effect !== "request", this.#owner.maxHeadBytes);
    this.#blocks.read(block, fields.add);
    if (effect === "request") return this.#openStream(id, next);
    checkConnection(effect, "HEADERS");
    checkStream(effect);
    if (stream === undefined) return;
    if (fields.isTooLarge) throw new StreamError(ErrorCode.enhanceYourCalm, "trailers are too large");
    const lines = fields.takeTrailers();
    stream.state = next;
    stream.receiver?.onTrailers(lines);
    if (next === "closed") this.#endStream(stream, next);
  }

  #openStream(id: number, state: StreamState): void {
    this.lastId = id;
    this.#begunCount++;
    if (!this.#owner.acceptsRequest() || this.#streams.size >= MAX_STREAMS) {
      throw new StreamError(ErrorCode.refusedStream, "too many streams, or the session ends");
    }
    const stream = new Stream(id, this.#output.initialWindow, this.now);
    stream.state = state;
    stream.receiver = this.#owner.openStream(stream, fields);
    this.#streams.set(id, stream);
    this.#begun.push(stream);
    this.#owner.onChange();
  }

  /** Applies an event without a payload. Returns the stream, or null if the event has no effect on it. */
  #applyToStream(id: number, event: StreamEvent, frame: string): Stream | null {
    const stream = this.#streams.get(id);
    const { next, effect } = STREAM[this.#stateOf(id, stream)][event];
    checkConnection(effect, frame);
    if (stream === undefined) return null;
    if (effect === "cancel") this.#endStream(stream, next);
    else stream.state = next;
    return stream;
  }

  /** Returns a stream's state. Open streams and recently reset ones are stored. */
  #stateOf(id: number, stream: Stream | undefined): StreamState {
    if (stream !== undefined) return stream.state;
    if (id === 0 || id > this.lastId) return "idle";
    return this.#reset.has(id) ? "reset" : "closed";
  }

  #endStream(stream: Stream, state: StreamState): void {
    stream.state = state;
    this.#output.drop(stream);
    stream.receiver?.onClosed();
    if (!this.#streams.delete(stream.id)) return;
    this.#owner.onChange();
    if (this.#streams.size === 0) this.#owner.onIdle();
  }

  #sendReset(id: number, code: ErrorCode): void {
    this.#output.putNumber(FrameType.rstStream, id, code);
    this.#reset.add(id);
    if (this.#reset.size <= MAX_RESET) return;
    const [oldest] = this.#reset;
    this.#reset.delete(oldest);
  }

  #consumeConnection(bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < CONNECTION_WINDOW / 2) return;
    this.#output.putNumber(FrameType.windowUpdate, 0, this.#unacknowledged);
    this.#allowance += this.#unacknowledged;
    this.#unacknowledged = 0;
  }
}

/** @throws ConnectionError for an effect that ends the session */
function checkConnection(effect: StreamEffect, frame: string): void {
  if (effect === "protocolError") throw new ConnectionError(ErrorCode.protocol, `${frame} on an idle stream`);
  if (effect === "streamClosed") throw new ConnectionError(ErrorCode.streamClosed, `${frame} on a closed stream`);
}

/** @throws StreamError for an effect that ends the stream */
function checkStream(effect: StreamEffect): void {
  if (effect === "malformed") throw new StreamError(ErrorCode.protocol, "trailers without END_STREAM");
  if (effect === "afterEnd") throw new StreamError(ErrorCode.streamClosed, "a frame after END_STREAM");
}
