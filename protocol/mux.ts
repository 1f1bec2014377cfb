import {
  FRAME_HEAD,
  MAX_EMPTY_FRAMES,
  MAX_HEAD,
  MAX_INTERIM,
  MAX_PAYLOAD,
  MAX_PIECE,
  MAX_REASON,
  MAX_SMALL_BLOCK,
  MAX_UNACKNOWLEDGED,
  MAX_WINDOW_GROWTH,
} from "./limits.ts";
import { END, FrameType, OVERDRAW, ProtocolError, RAW, UPGRADE } from "./frames.ts";
import { ByteBudget, growthOfProcess, overdraftOfProcess, SessionFlow } from "./flow.ts";
import { Heartbeat } from "./heartbeat.ts";
import { HEADROOM, Outbox, readU16, readU32 } from "./outbox.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import {
  SESSION_TABLE,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  StreamEvent,
  StreamState,
} from "./state.ts";
import { MuxStream, type StreamSession, StreamTable, toDataEvent, toResponseEvent } from "./stream.ts";
import {
  type HeadWriter,
  Opening,
  type StreamHandler,
  type StreamOpening,
  SWITCHING_PROTOCOLS,
  type Transport,
} from "./types.ts";

/** A session end's transport, limits and listeners. */
export interface MuxOptions {
  transport: Transport;
  /** Called once when the session is over, after every stream was reset. */
  onEnd(reason: GoAwayReason, text: string): void;
  /** The peer announces the session's end. Open streams continue. */
  onGoAway?(reason: GoAwayReason, text: string): void;
  /**
   * The relay has a message for the client's user. A newer relay may send codes that {@link NoticeCode} does not have.
   */
  onNotice?(code: number, text: string): void;
  /** The peer opened a stream: client only. The head is `frame[start, end)`; the handler gets the rest. */
  onOpen?(stream: MuxStream, frame: Uint8Array, start: number, end: number, opening: StreamOpening): StreamHandler;
  /**
   * A stream's handler threw. The stream was reset, and all others continue. If absent, {@link Mux.receive} and
   * {@link Mux.beat} throw the error.
   */
  onDefect?(error: unknown): void;
  /** HTTP requests that may be open simultaneously. */
  maxStreams: number;
  /** Upgrades, requested or granted, and raw streams that may be open simultaneously, beside {@link maxStreams}. */
  maxUpgrades: number;
  /** Returns milliseconds; `performance.now()` by default. */
  now?: () => number;
  /** The budget for window growth; by default a share in the process's budget. */
  growth?: ByteBudget;
  /** The budget that clients may overdraw while requests are open: relay only. By default the process's. */
  overdraft?: ByteBudget;
  /** The id before the first stream's, so that tests reach the highest ids. */
  lastId?: number;
}

/**
 * One end in a session: many streams over one message transport. The relay opens streams and the client accepts them;
 * both ends are this class. It parses frames, looks up the rules in `state.ts` and `flow.ts`, and performs their
 * effects. A frame that breaks the protocol ends this session; an error in a stream's handler ends this stream.
 */
export class Mux implements StreamSession {
  readonly outbox: Outbox;
  readonly flow: SessionFlow;
  readonly now: () => number;
  readonly #options: MuxOptions;
  readonly #streams: StreamTable<MuxStream>;
  readonly #heartbeat: Heartbeat;
  #state: SessionState = "open";
  /** The peer's frames without content since the last beat. */
  #emptyFrames = 0;
  /** The message that holds the last PONG, by {@link Outbox.messages}. */
  #pongIn = -1;
  /** Received bytes in streams' frames that the peer does not know about yet. */
  #unacknowledged = 0;

  constructor(options: MuxOptions) {
    this.#options = options;
    this.#streams = new StreamTable(options.lastId);
    this.now = options.now ?? (() => performance.now());
    const growth = options.growth ?? new ByteBudget(MAX_WINDOW_GROWTH, growthOfProcess);
    this.flow = new SessionFlow(growth, this.#isRelay ? options.overdraft ?? overdraftOfProcess : null);
    this.#heartbeat = new Heartbeat(this.now());
    this.outbox = new Outbox(options.transport);
  }

  /** Open streams, upgrades included. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether the session has ended. */
  get over(): boolean {
    return this.#state === "over";
  }

  /** Time at the peer's last message, by {@link now}. */
  get heardAt(): number {
    return this.#heartbeat.heardAt;
  }

  get roundTripMs(): number {
    return this.#heartbeat.roundTripMs;
  }

  measureRoundTrip(): void {
    if (!this.over && this.#heartbeat.mayMeasure(this.now())) this.#ping();
  }

  /** Returns every open stream. */
  streams(): MuxStream[] {
    return this.#streams.entries();
  }

  /**
   * Opens a stream. Relay only.
   * @param head the request's head; any bytes, or null for none, on a raw stream
   * @returns the stream, or null if too many such streams are open, too many bytes wait to be sent, the peer has
   * announced the session's end, or the session is over
   * @throws RangeError when the head is larger than `MAX_HEAD`
   */
  open(opening: StreamOpening, head: HeadWriter | null, handler: StreamHandler): MuxStream | null {
    const { kind, end } = opening, isHttp = kind === "http";
    if (
      SESSION_TABLE[this.#state].openStream[1] === "refuse" || this.outbox.used > MAX_WAITING || !this.#hasSlot(isHttp)
    ) return null;
    const id = this.#streams.nextId(), overdraws = isHttp && this.flow.allowOverdraft();
    const flags = (end ? END : 0) | (isHttp ? overdraws ? OVERDRAW : 0 : kind === "raw" ? RAW : UPGRADE);
    let size: number;
    try {
      size = this.outbox.putRequest(flags, id, head ?? NO_HEAD);
    } catch (error) {
      if (overdraws) this.flow.endOverdraft();
      throw error;
    }
    const stream = new MuxStream(this, id, opening, handler, true, overdraws);
    this.#streams.add(stream);
    stream.carried = size;
    return stream;
  }

  /**
   * Reads the whole frames from `bytes[start, end)`. Handlers get views into it. A frame that breaks the protocol ends
   * the session.
   * @returns the offset after the last whole frame: the rest, less than the largest frame, must come again with more
   * bytes
   */
  receive(bytes: Uint8Array, start: number, end: number): number {
    this.#heartbeat.heardAt = this.now();
    try {
      const at = this.#receiveFrames(bytes, start, end);
      if (this.#unacknowledged >= MAX_UNACKNOWLEDGED) this.#acknowledge();
      return at;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end(GoAwayReason.protocolError, error.message);
    }
    return end;
  }

  /** Announces this session's end to the peer; open streams continue. */
  sendGoAway(reason: GoAwayReason, text: string): void {
    if (!this.over) this.outbox.putReason(FrameType.goAway, 0, reason, text);
  }

  /** Sends the client's user a message, by a {@link NoticeCode}. Only for clients that accept notices. */
  sendNotice(code: number, text: string): void {
    if (!this.over) this.outbox.putReason(FrameType.notice, 0, code, text);
  }

  /** Ends the session: sends the reason, resets every stream, then calls `onEnd`. No effect if it is over. */
  end(reason: GoAwayReason, text: string): void {
    const effect = this.#apply(toEndEvent(reason));
    if (effect === "ignore") return;
    if (effect === "goAway, end") {
      this.outbox.putReason(FrameType.goAway, 0, reason, text);
      this.outbox.flush();
    }
    for (const stream of this.#streams.entries()) {
      if (stream.ended !== null) continue;
      this.#contain(stream, () => {
        stream.finish(ResetReason.sessionLost, false, false);
        stream.handler.onReset(ResetReason.sessionLost, text);
      });
    }
    this.outbox.close();
    this.#options.onEnd(reason, text);
  }

  /** The session's clock, about once a second: pings a silent peer, ends a dead session, and informs the streams. */
  beat(): void {
    this.#emptyFrames = 0;
    for (const stream of this.#streams.entries()) {
      if (stream.handler.onBeat !== undefined) this.#contain(stream, () => stream.handler.onBeat?.());
    }
    const event = this.#heartbeat.check(this.now());
    if (event === "silent") this.end(GoAwayReason.lost, "the peer did not respond to heartbeats");
    else if (event === "quiet" && this.#apply(event) === "ping") this.#ping();
  }

  /**
   * One tick on the idle clock: resets streams without a frame for `ticks` ticks. Upgraded and raw streams are exempt
   * while both directions are open, because they may be quiet for hours, and their two ends must detect a dead peer
   * themselves.
   */
  endIdle(ticks: number): void {
    for (const stream of this.#streams.entries()) {
      if (stream.ended !== null || stream.state === StreamState.joined || ++stream.idleTicks <= ticks) continue;
      stream.reset(ResetReason.idle, "no bytes moved for too long");
      this.#contain(stream, () => stream.handler.onReset(ResetReason.idle, "no bytes moved for too long"));
    }
  }

  forget(stream: MuxStream): void {
    this.#streams.delete(stream);
    if (stream.mayBeOverdrawn) this.flow.endOverdraft();
  }

  get #isRelay(): boolean {
    return this.#options.onOpen === undefined;
  }

  #hasSlot(isHttp: boolean): boolean {
    const { maxStreams, maxUpgrades } = this.#options;
    return this.#streams.count(isHttp) < (isHttp ? maxStreams : maxUpgrades);
  }

  /** Performs a step from the session's table and returns its effect. */
  #apply(event: SessionEvent): SessionEffect {
    const [next, effect] = SESSION_TABLE[this.#state][event];
    this.#state = next;
    return effect;
  }

  #ping(): void {
    this.#heartbeat.ping(this.now());
    this.#putAlone(FrameType.ping, PING, 0, PING.length);
  }

  /** Sends a frame at once unless others wait: many idle sessions beat in one event loop iteration, each with a buffer. */
  #putAlone(type: FrameType, bytes: Uint8Array, start: number, end: number): void {
    const isAlone = this.outbox.used === HEADROOM;
    this.outbox.put(type, 0, 0, bytes, start, end);
    if (isAlone) this.outbox.flush();
  }

  /** Calls a handler. If it throws and `onDefect` exists, only its stream ends. */
  #contain(stream: MuxStream, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#onDefect(stream, error);
    }
  }

  #onDefect(stream: MuxStream | undefined, error: unknown): void {
    const { onDefect } = this.#options;
    if (onDefect === undefined) throw error;
    onDefect(error);
    if (stream === undefined || stream.ended !== null) return;
    stream.reset(ResetReason.internal, DEFECT);
    try {
      stream.handler.onReset(ResetReason.internal, DEFECT);
    } catch (second) {
      onDefect(second);
    }
  }

  #receiveFrames(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start; at < end && !this.over;) {
      const next = this.#receiveFrame(bytes, at, end);
      if (next === at) return at;
      at = next;
    }
    return end;
  }

  /** Reports the received bytes, which shows the peer how many are still on the way. */
  #acknowledge(): void {
    if (this.over) return;
    this.outbox.putCredit(0, this.#unacknowledged);
    this.#unacknowledged = 0;
  }

  /** Returns the offset after the frame at `at`, or `at` if it is not complete. */
  #receiveFrame(bytes: Uint8Array, at: number, have: number): number {
    if (have - at < 4) return at;
    const length = readU32(bytes, at), start = at + FRAME_HEAD, end = start + length;
    if (length > MAX_PAYLOAD) throw new ProtocolError(`a frame of ${length} bytes is too large`);
    if (end > have) return at;
    const type = bytes[at + 4], flags = bytes[at + 5], id = readU32(bytes, at + 6);
    if (id === 0) {
      this.#onSessionFrame(type, bytes, start, end);
      return end;
    }
    this.#unacknowledged += end - at;
    const isRequest = type === FrameType.request, stream = isRequest ? undefined : this.#streams.get(id);
    try {
      if (isRequest) this.#onRequest(flags, id, bytes, start, end);
      else if (stream === undefined) this.#onLateFrame(type, id, bytes, start, end);
      else this.#onStreamFrame(stream, type, flags, bytes, start, end);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      this.#onDefect(stream ?? this.#streams.get(id), error);
    }
    return end;
  }

  #onSessionFrame(type: number, bytes: Uint8Array, start: number, end: number): void {
    if (type === FrameType.credit) return this.#onAcknowledged(readCredit(bytes, start, end));
    this.#countEmpty();
    switch (type) {
      case FrameType.ping:
        if (end - start !== 8) throw new ProtocolError("a PING holds 8 bytes");
        return this.#respondToPing(bytes, start, end);
      case FrameType.pong:
        return this.#onPong();
      case FrameType.goAway: {
        const { code, text } = readReason(bytes, start, end);
        const reason = Object.values(GoAwayReason).find((known) => known === code) ?? GoAwayReason.closed;
        if (this.#apply("goAway") === "notify") this.#options.onGoAway?.(reason, text);
        return;
      }
      case FrameType.notice: {
        if (this.#options.onNotice === undefined) throw new ProtocolError("this side did not ask for notices");
        const { code, text } = readReason(bytes, start, end);
        return this.#options.onNotice(code, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} needs a stream`);
    }
  }

  /** The peer has received so many more bytes. */
  #onAcknowledged(bytes: number): void {
    if (bytes < MAX_UNACKNOWLEDGED) this.#countEmpty();
    if (!this.outbox.acknowledge(bytes)) throw new ProtocolError("the peer acknowledged more bytes than were sent");
    this.measureRoundTrip();
  }

  /** At most one PONG waits, so that a peer that pings without reading cannot fill memory. */
  #respondToPing(bytes: Uint8Array, start: number, end: number): void {
    if (this.#pongIn === this.outbox.messages) return;
    const { messages } = this.outbox;
    this.#putAlone(FrameType.pong, bytes, start, end);
    this.#pongIn = messages;
  }

  #onPong(): void {
    const isFirst = this.#heartbeat.pong();
    if (isFirst === undefined) return;
    this.outbox.mayBeUnderWay = UNDER_WAY + LINE * this.#heartbeat.shortestMs;
    // The first round trip includes code that runs for the first time, at both ends.
    if (isFirst) this.#ping();
  }

  #countEmpty(): void {
    if (++this.#emptyFrames > MAX_EMPTY_FRAMES) throw new ProtocolError("too many frames without content");
  }

  #onRequest(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const { onOpen } = this.#options;
    if (onOpen === undefined) throw new ProtocolError("only the relay opens streams");
    if (end - start > MAX_HEAD) throw new ProtocolError("a request head is too large");
    this.#streams.acceptId(id);
    const opening = readOpening(flags), isHttp = opening.kind === "http", hasSlot = this.#hasSlot(isHttp);
    const stream = new MuxStream(this, id, opening, REFUSED, false, isHttp && (flags & OVERDRAW) !== 0);
    this.#streams.add(stream);
    if (!hasSlot) return stream.reset(ResetReason.limit, "too many simultaneous requests");
    stream.carried = end - start;
    stream.handler = onOpen(stream, bytes, start, end, opening);
  }

  /** Handles a frame for a closed stream: legal if it crossed the stream's reset on the way. */
  #onLateFrame(type: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    if (!this.#streams.wasOpen(id)) throw new ProtocolError(`stream ${id} was never opened`);
    if (!STREAM_TYPES.has(type)) throw new ProtocolError(`a frame of type ${type} is unknown`);
    if (type === FrameType.reset || start === end) this.#countEmpty();
    if (type === FrameType.credit) this.flow.repay(id, readCredit(bytes, start, end));
    else if (type === FrameType.reset) this.flow.repay(id, Infinity);
  }

  #onStreamFrame(stream: MuxStream, type: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    stream.idleTicks = 0;
    switch (type) {
      case FrameType.response:
        return this.#onResponse(stream, (flags & END) !== 0, bytes, start, end);
      case FrameType.data:
        return this.#onData(stream, (flags & END) !== 0, bytes, start, end);
      case FrameType.trailers:
        return this.#onTrailers(stream, bytes, start, end);
      case FrameType.credit: {
        const credit = readCredit(bytes, start, end);
        if (credit === 0) this.#countEmpty();
        return stream.addCredit(credit);
      }
      case FrameType.reset: {
        const { code, text } = readReason(bytes, start, end);
        const reason = Object.values(ResetReason).find((known) => known === code) ?? ResetReason.cancelled;
        stream.resetText = text;
        stream.finish(reason, false, stream.isRemoteComplete);
        return stream.handler.onReset(reason, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} is unknown`);
    }
  }

  #onData(stream: MuxStream, isEnd: boolean, bytes: Uint8Array, start: number, end: number): void {
    if (start === end && !isEnd) this.#countEmpty();
    checkChunk(end - start);
    stream.step(toDataEvent(!this.#isRelay, isEnd), end - start, this.heardAt);
    stream.handler.onData(bytes.subarray(start, end), isEnd);
  }

  #onResponse(stream: MuxStream, isEnd: boolean, bytes: Uint8Array, start: number, end: number): void {
    if (!this.#isRelay) throw new ProtocolError("only the client responds");
    if (end - start < 4) throw new ProtocolError("a RESPONSE was cut short");
    const status = readU16(bytes, start), blockStart = start + 4, blockEnd = blockStart + readU16(bytes, start + 2);
    if (blockEnd > end) throw new ProtocolError("a RESPONSE head was cut short");
    stream.carried += blockEnd - blockStart;
    const isGranted = status === SWITCHING_PROTOCOLS;
    if (status < 200 && !isGranted) {
      stream.step(StreamEvent.interim, 0, this.heardAt);
      checkInterim(stream, status, blockEnd - blockStart, isEnd || blockEnd < end);
      return stream.handler.onInterim?.(status, bytes, blockStart, blockEnd);
    }
    checkChunk(end - blockEnd);
    stream.status = status;
    stream.step(toResponseEvent(isGranted, isEnd), end - blockEnd, this.heardAt);
    stream.handler.onResponse?.(status, bytes, blockStart, blockEnd, end, isEnd);
  }

  #onTrailers(stream: MuxStream, bytes: Uint8Array, start: number, end: number): void {
    if (end - start > MAX_SMALL_BLOCK) throw new ProtocolError("trailers are too large");
    stream.carried += end - start;
    stream.step(this.#isRelay ? StreamEvent.downTrailers : StreamEvent.upTrailers, 0, this.heardAt);
    if (stream.handler.onTrailers === undefined) stream.handler.onData(EMPTY, true);
    else stream.handler.onTrailers(bytes, start, end);
  }
}

/** A peer that does not read gets no more heads while so many bytes wait, because heads wait for no credit. */
const MAX_WAITING = 4 * 1024 * 1024;

/**
 * Bytes on the way before bodies wait: this number, and a fast line's bytes in one round trip. All are ahead of the
 * next small frame, in a queue that a busy peer reads slowly.
 */
const UNDER_WAY = 256 * 1024;
/** Bytes per millisecond on a 2.4 Gbit/s line. */
const LINE = 300_000;

const DEFECT = "a defect in this program ended the request";
const DECODER = new TextDecoder();
const PING = new Uint8Array(8);
const EMPTY = new Uint8Array(0);
const STREAM_TYPES: ReadonlySet<number> = new Set([
  FrameType.response,
  FrameType.data,
  FrameType.trailers,
  FrameType.reset,
  FrameType.credit,
]);

/** The handler for a refused stream, which has no further events. */
const REFUSED: StreamHandler = { onData() {}, onReset() {} };
/** The empty opening for a raw stream. */
const NO_HEAD: HeadWriter = { headSize: 0, writeHead: (_into, at) => at };

function toEndEvent(reason: GoAwayReason): SessionEvent {
  if (reason === GoAwayReason.lost) return "lost";
  return reason === GoAwayReason.protocolError ? "violation" : "close";
}

/** @throws ProtocolError for flags that exclude each other */
function readOpening(flags: number): StreamOpening {
  const isEnd = (flags & END) !== 0;
  if ((flags & (UPGRADE | RAW)) === 0) return isEnd ? Opening.bodyless : Opening.withBody;
  if (isEnd) throw new ProtocolError("an upgrade or a raw stream has no END");
  if ((flags & RAW) === 0) return Opening.upgrade;
  if ((flags & UPGRADE) !== 0) throw new ProtocolError("a raw stream is no upgrade");
  return Opening.raw;
}

function checkChunk(size: number): void {
  if (size > MAX_PIECE) throw new ProtocolError(`a chunk of ${size} bytes is too large`);
}

function checkInterim(stream: MuxStream, status: number, size: number, hasMore: boolean): void {
  if (status < 100) throw new ProtocolError(`a status of ${status}`);
  if (hasMore) throw new ProtocolError("an interim response has neither END nor a body");
  if (size > MAX_SMALL_BLOCK) throw new ProtocolError("an interim response is too large");
  if (++stream.interims > MAX_INTERIM) throw new ProtocolError("too many interim responses");
}

function readCredit(bytes: Uint8Array, start: number, end: number): number {
  if (end - start !== 4) throw new ProtocolError("a CREDIT holds 4 bytes");
  return readU32(bytes, start);
}

function readReason(bytes: Uint8Array, start: number, end: number): { code: number; text: string } {
  if (end - start < 2 || end - start > 2 + MAX_REASON) throw new ProtocolError("a reason has a wrong length");
  return { code: readU16(bytes, start), text: DECODER.decode(bytes.subarray(start + 2, end)) };
}
