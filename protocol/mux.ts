import {
  FRAME_HEAD,
  HEARTBEAT_MS,
  MAX_HEAD,
  MAX_PAYLOAD,
  MAX_PIECE,
  MAX_REASON,
  MAX_WINDOW_GROWTH,
  SILENCE_MS,
} from "./limits.ts";
import { END, FrameType, MORE, ProtocolError, readU16, readU32, TEXT, WEBSOCKET } from "./frames.ts";
import { FrameWriter } from "./frame_writer.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import { MuxStream, type StreamHandler, type StreamSession } from "./stream.ts";
import { StreamTable } from "./stream_table.ts";
import { Outbox, type Transport } from "./outbox.ts";

export interface MuxOptions {
  transport: Transport;
  /** Called once when the session is over, for whatever reason; every stream has been reset before. */
  onEnd(reason: GoAwayReason, text: string): void;
  /** The peer says that the session will end. Streams in flight go on. */
  onGoAway?(reason: GoAwayReason, text: string): void;
  /** A request arrived: client only. The block is `frame[start, end)`; the handler gets what follows. */
  onRequest?(stream: MuxStream, frame: Uint8Array, start: number, end: number, flags: RequestFlags): StreamHandler;
  /** Streams that may be open at a time. */
  maxStreams: number;
  /** Milliseconds; a clock that tests can turn. */
  now?: () => number;
  /** The id before that of the first stream; for tests of how ids start anew. 0 when left out. */
  lastId?: number;
}

export interface RequestFlags {
  /** No body follows. */
  end: boolean;
  /** A WebSocket handshake. */
  webSocket: boolean;
}

/**
 * One end of a session: many streams over one message transport. The relay opens streams, the client answers them;
 * both ends are this class. A frame that breaks the protocol ends this session with a reason and nothing else.
 */
export class Mux implements StreamSession {
  readonly outbox: Outbox;
  readonly frames: FrameWriter;
  readonly now: () => number;
  readonly #options: MuxOptions;
  readonly #streams = new StreamTable<MuxStream>();
  #lastId: number;
  /** Whether ids have started anew after 2^32 - 1. */
  #wrapped = false;
  #growthLeft = MAX_WINDOW_GROWTH;
  #heardAt: number;
  #pingedAt = 0;
  #over = false;

  constructor(options: MuxOptions) {
    this.#options = options;
    this.#lastId = options.lastId ?? 0;
    this.now = options.now ?? (() => performance.now());
    this.#heardAt = this.now();
    this.outbox = new Outbox(options.transport);
    this.frames = new FrameWriter(this.outbox);
  }

  /** Streams open now. */
  get size(): number {
    return this.#streams.size;
  }

  get over(): boolean {
    return this.#over;
  }

  /** When the peer's last message came, by {@link now}. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Every stream open now. */
  streams(): MuxStream[] {
    return this.#streams.entries();
  }

  /**
   * Opens a stream with a request. Relay only.
   * @param head request line, field lines and the blank line
   * @returns the stream, or null when too many are open, too much waits to be sent, or the session is over
   */
  open(head: Uint8Array | string, flags: RequestFlags, handler: StreamHandler): MuxStream | null {
    if (this.#over || this.#streams.size >= this.#options.maxStreams || this.outbox.used > MAX_WAITING) return null;
    const id = this.#nextId();
    const stream = new MuxStream(this, id, handler);
    this.#streams.add(stream);
    const bits = (flags.end ? END : 0) | (flags.webSocket ? WEBSOCKET : 0);
    this.frames.putRequest(bits, id, head);
    stream.carried = head.length;
    if (flags.end) stream.localEnded = true;
    return stream;
  }

  /** Takes one message (or, from a stream transport, any run of whole frames). Handlers are given views into it. */
  receive(message: Uint8Array): void {
    this.#heardAt = this.now();
    try {
      for (let at = 0; at < message.length && !this.#over;) at = this.#receiveFrame(message, at);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end(GoAwayReason.protocolError, error.message);
    }
  }

  /** Tells the peer that this session will end; streams in flight go on. */
  sendGoAway(reason: GoAwayReason, text: string): void {
    if (!this.#over) this.frames.putReason(FrameType.goAway, 0, reason, text);
  }

  /** Ends the session: says why, resets every stream, then calls `onEnd`. No effect when it is over. */
  end(reason: GoAwayReason, text: string): void {
    if (this.#over) return;
    if (reason !== GoAwayReason.lost) {
      this.sendGoAway(reason, text);
      this.outbox.flush();
    }
    this.#over = true;
    for (const stream of this.#streams.entries()) {
      if (stream.ended !== null) continue;
      stream.finish(ResetReason.sessionLost);
      stream.handler.onReset(ResetReason.sessionLost, text);
    }
    this.outbox.close();
    this.#options.onEnd(reason, text);
  }

  /**
   * The beat of a session. Call it about once a second: it pings a silent peer, ends the session when silence lasts,
   * and lets the streams know.
   */
  beat(): void {
    for (const { handler } of this.#streams.entries()) handler.onBeat?.();
    const now = this.now(), silence = now - this.#heardAt;
    if (silence >= SILENCE_MS) return this.end(GoAwayReason.lost, "no answer to heartbeats");
    if (silence < HEARTBEAT_MS || now - this.#pingedAt < HEARTBEAT_MS) return;
    this.#pingedAt = now;
    this.frames.put(FrameType.ping, 0, 0, PING);
    // Many idle sessions beat in one turn of the event loop: until its end each would hold a buffer.
    this.outbox.flush();
  }

  /**
   * One turn of the idle clock: streams on which nothing moved for `turns` of them are reset. WebSockets are left
   * alone: they may be quiet for hours, and whether their two ends are there is for heartbeats to find out.
   */
  endIdle(turns: number): void {
    for (const stream of this.#streams.entries()) {
      if (stream.ended !== null || stream.status === SWITCHING_PROTOCOLS || ++stream.idleTurns <= turns) continue;
      stream.reset(ResetReason.idle, "nothing moved for too long");
      stream.handler.onReset(ResetReason.idle, "nothing moved for too long");
    }
  }

  /** Takes up to `wanted` bytes of the session's budget for window growth. */
  takeGrowth(wanted: number): number {
    const taken = Math.min(wanted, this.#growthLeft);
    this.#growthLeft -= taken;
    return taken;
  }

  /** This one has ended. */
  forget(stream: MuxStream): void {
    this.#streams.delete(stream);
    this.#growthLeft += stream.growth;
  }

  #nextId(): number {
    do {
      if (this.#lastId === MAX_ID) this.#wrapped = true;
      this.#lastId = this.#lastId === MAX_ID ? 1 : this.#lastId + 1;
    } while (this.#streams.has(this.#lastId));
    return this.#lastId;
  }

  #receiveFrame(message: Uint8Array, at: number): number {
    if (message.length - at < FRAME_HEAD) throw new ProtocolError("a frame head was cut short");
    const length = readU32(message, at), type = message[at + 4], flags = message[at + 5], id = readU32(message, at + 6);
    const start = at + FRAME_HEAD, end = start + length;
    if (length > MAX_PAYLOAD) throw new ProtocolError(`a frame of ${length} bytes is too large`);
    if (end > message.length) throw new ProtocolError("a frame was cut short");
    if (id === 0) this.#onSessionFrame(type, message, start, end);
    else if (type === FrameType.request) this.#onRequest(flags, id, message, start, end);
    else this.#onStreamFrame(type, flags, id, message, start, end);
    return end;
  }

  #onSessionFrame(type: number, message: Uint8Array, start: number, end: number): void {
    switch (type) {
      case FrameType.ping:
        if (end - start !== 8) throw new ProtocolError("a PING holds 8 bytes");
        // A peer that pings without reading must not fill memory; it will hear what waits already.
        if (this.outbox.full) return;
        this.frames.put(FrameType.pong, 0, 0, message.subarray(start, end));
        // As in beat(): the heartbeats of many clients may arrive in one turn, each alone in its message.
        if (message.length === FRAME_HEAD + 8) this.outbox.flush();
        return;
      case FrameType.pong:
        return;
      case FrameType.goAway: {
        const { code, text } = readReason(message, start, end);
        const reason = Object.values(GoAwayReason).find((known) => known === code) ?? GoAwayReason.closed;
        return this.#options.onGoAway?.(reason, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} needs a stream`);
    }
  }

  #onRequest(flags: number, id: number, message: Uint8Array, start: number, end: number): void {
    const { onRequest, maxStreams } = this.#options;
    if (onRequest === undefined) throw new ProtocolError("only the relay opens streams");
    if (this.#streams.has(id)) throw new ProtocolError(`stream ${id} is open already`);
    if (end - start > MAX_HEAD) throw new ProtocolError("a request head is too large");
    if (((id - this.#lastId - 1) >>> 0) >= HALF_OF_IDS) throw new ProtocolError(`stream ${id} comes out of turn`);
    if (id < this.#lastId) this.#wrapped = true;
    this.#lastId = id;
    const stream = new MuxStream(this, id, REFUSED);
    this.#streams.add(stream);
    if (this.#streams.size > maxStreams) return stream.reset(ResetReason.limit, "too many requests at a time");
    const request = { end: (flags & END) !== 0, webSocket: (flags & WEBSOCKET) !== 0 };
    stream.remoteEnded = request.end;
    stream.answered = true;
    stream.carried = end - start;
    stream.handler = onRequest(stream, message, start, end, request);
  }

  #onStreamFrame(type: number, flags: number, id: number, message: Uint8Array, start: number, end: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      // A frame may cross the reset of its stream on the way. One for a stream that never was is a defect.
      if (!this.#wasOpen(id)) throw new ProtocolError(`stream ${id} was never opened`);
      if (!STREAM_TYPES.has(type)) throw new ProtocolError(`a frame of type ${type} is unknown`);
      return;
    }
    stream.idleTurns = 0;
    switch (type) {
      case FrameType.response:
        return this.#onResponse(stream, flags, message, start, end);
      case FrameType.data: {
        const last = (flags & END) !== 0;
        this.#takePiece(stream, end - start);
        if (last) stream.endRemote();
        return stream.handler.onData(message.subarray(start, end), last);
      }
      case FrameType.message:
        this.#takePiece(stream, end - start);
        return stream.handler.onMessage(message.subarray(start, end), (flags & TEXT) !== 0, (flags & MORE) !== 0);
      case FrameType.credit:
        if (end - start !== 4) throw new ProtocolError("a CREDIT holds 4 bytes");
        return stream.addCredit(readU32(message, start));
      case FrameType.close: {
        const { code, text } = readReason(message, start, end);
        stream.finish(ResetReason.none);
        return stream.handler.onClose(code, text);
      }
      case FrameType.reset: {
        const { code, text } = readReason(message, start, end);
        const reason = Object.values(ResetReason).find((known) => known === code) ?? ResetReason.cancelled;
        stream.finish(reason);
        return stream.handler.onReset(reason, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} is unknown`);
    }
  }

  #onResponse(stream: MuxStream, flags: number, message: Uint8Array, start: number, end: number): void {
    if (stream.handler.onResponse === undefined) throw new ProtocolError("only the client answers");
    if (stream.answered) throw new ProtocolError(`stream ${stream.id} was answered twice`);
    if (end - start < 4) throw new ProtocolError("a RESPONSE was cut short");
    const status = readU16(message, start), headStart = start + 4, headEnd = headStart + readU16(message, start + 2);
    if (headEnd > end) throw new ProtocolError("a RESPONSE head was cut short");
    stream.answered = true;
    stream.status = status;
    stream.carried += headEnd - headStart;
    this.#takePiece(stream, end - headEnd);
    const last = (flags & END) !== 0;
    if (last) stream.endRemote();
    stream.handler.onResponse(status, message, headStart, headEnd, end, last);
  }

  #takePiece(stream: MuxStream, bytes: number): void {
    if (bytes > MAX_PIECE) throw new ProtocolError(`a piece of ${bytes} bytes is too large`);
    if (stream.remoteEnded) throw new ProtocolError(`stream ${stream.id} went on after its end`);
    if (!stream.answered) throw new ProtocolError(`stream ${stream.id} sent a body before its answer`);
    stream.take(bytes);
  }

  /** Whether `id` is one of those handed out so far. */
  #wasOpen(id: number): boolean {
    return id <= this.#lastId || (this.#wrapped && ((this.#lastId - id) >>> 0) < HALF_OF_IDS);
  }
}

const MAX_ID = 0xffffffff;
/** Ids are compared around the circle: the nearer half ahead of the last one is to come, the other has been. */
const HALF_OF_IDS = 0x80000000;

/** Heads wait for nobody, so a peer that does not read gets no more of them while this much is waiting, in bytes. */
const MAX_WAITING = 4 * 1024 * 1024;

/** Status of a WebSocket that was accepted. */
const SWITCHING_PROTOCOLS = 101;

const DECODER = new TextDecoder();
const PING = new Uint8Array(8);
const STREAM_TYPES: ReadonlySet<number> = new Set([
  FrameType.response,
  FrameType.data,
  FrameType.message,
  FrameType.close,
  FrameType.reset,
  FrameType.credit,
]);

/** The handler of a stream that was refused: nothing will come of it. */
const REFUSED: StreamHandler = { onData() {}, onMessage() {}, onClose() {}, onReset() {} };

function readReason(message: Uint8Array, start: number, end: number): { code: number; text: string } {
  if (end - start < 2 || end - start > 2 + MAX_REASON) throw new ProtocolError("a reason has a wrong length");
  return { code: readU16(message, start), text: DECODER.decode(message.subarray(start + 2, end)) };
}
