import {
  FRAME_HEAD,
  HEARTBEAT_MS,
  MAX_EMPTY_FRAMES,
  MAX_HEAD,
  MAX_INTERIM,
  MAX_PAYLOAD,
  MAX_PIECE,
  MAX_REASON,
  MAX_SMALL_BLOCK,
  MAX_UNTOLD,
  MAX_WINDOW_GROWTH,
  OVERDRAFT,
  SILENCE_MS,
} from "./limits.ts";
import { END, FrameType, OVERDRAW, ProtocolError, RAW, readU16, readU32, UPGRADE } from "./frames.ts";
import { FrameWriter, HEADROOM, type HeadWriter, Outbox, type Transport } from "./outbox.ts";
import { ByteBudget, growthOfProcess, overdraftOfProcess } from "./budget.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import {
  MuxStream,
  Opening,
  type StreamHandler,
  type StreamOpening,
  type StreamSession,
  SWITCHING_PROTOCOLS,
} from "./stream.ts";
import { StreamTable } from "./stream_table.ts";

/** One end of a session: how its frames are sent, what it takes, and who hears of what comes. */
export interface MuxOptions {
  transport: Transport;
  /** Called once when the session is over, for whatever reason; every stream has been reset before. */
  onEnd(reason: GoAwayReason, text: string): void;
  /** The peer says that the session will end. Streams in flight go on. */
  onGoAway?(reason: GoAwayReason, text: string): void;
  /** The relay has something for the client's user, by a code of {@link NoticeCode} or one that is not known yet. */
  onNotice?(code: number, text: string): void;
  /** The peer opened a stream: client only. The head is `frame[start, end)`; the handler gets the rest. */
  onOpen?(stream: MuxStream, frame: Uint8Array, start: number, end: number, opening: StreamOpening): StreamHandler;
  /** HTTP requests that may be open simultaneously. */
  maxStreams: number;
  /** Upgrades, requested or granted, and raw streams that may be open simultaneously, beside {@link maxStreams}. */
  maxUpgrades: number;
  /** Milliseconds; `performance.now()` when left out. */
  now?: () => number;
  /** What its windows may grow by; within the process's own budget when left out. */
  growth?: ByteBudget;
  /** What clients may overdraw is taken from it while requests are under way: relay only. The process's when left out. */
  overdraft?: ByteBudget;
  /** The id before that of the first stream; for tests of how ids start anew. 0 when left out. */
  lastId?: number;
}

/**
 * One end of a session: many streams over one message transport. The relay opens streams, the client answers them;
 * both ends are this class. A frame that breaks the protocol ends this session with a reason and nothing else.
 */
export class Mux implements StreamSession {
  readonly outbox: Outbox;
  readonly frames: FrameWriter;
  readonly growth: ByteBudget;
  readonly now: () => number;
  overdraft = OVERDRAFT;
  /** Bytes that came beyond the credit of their streams and have not been paid back. */
  peerOverdrawn = 0;
  /** What that may be. */
  #peerOverdraft: number;
  /** Requests under way whose answers may be overdrawn. */
  #overdrawing = 0;
  readonly #options: MuxOptions;
  readonly #streams = new StreamTable<MuxStream>();
  #lastId: number;
  /** Whether ids have started anew after 2^32 - 1. */
  #wrapped = false;
  #upgrades = 0;
  /** Frames of the peer that carried nothing, since the last beat. */
  #emptyFrames = 0;
  /** The message in which the last PONG goes, by {@link Outbox.messages}. */
  #pongIn = -1;
  #heardAt: number;
  #pingedAt = -Infinity;
  #roundTripMs = Infinity;
  #shortestMs = Infinity;
  /** Bytes of streams' frames that have been taken in, and that the peer has not been told of. */
  #untold = 0;
  /** What streams whose bytes are whole on their way had overdrawn, by their ids: the peer has it still. */
  readonly #debts = new Map<number, number>();
  /** The peer has said that the session will end. */
  #drains = false;
  #over = false;

  constructor(options: MuxOptions) {
    this.#options = options;
    this.#lastId = options.lastId ?? 0;
    this.growth = options.growth ?? new ByteBudget(MAX_WINDOW_GROWTH, growthOfProcess);
    // A client has one relay to fear, and is asked for what it takes; a relay has thousands of clients.
    this.#peerOverdraft = this.#isRelay ? 0 : OVERDRAFT;
    this.now = options.now ?? (() => performance.now());
    this.#heardAt = this.now();
    this.outbox = new Outbox(options.transport);
    this.frames = new FrameWriter(this.outbox);
  }

  /** Streams open now, upgrades included. */
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

  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  measureRoundTrip(): void {
    if (!this.#over && this.now() - this.#pingedAt >= REMEASURE_MS) this.#ping();
  }

  #ping(): void {
    this.#pingedAt = this.now();
    const isAlone = this.outbox.used === HEADROOM;
    this.frames.put(FrameType.ping, 0, 0, PING, 0, PING.length);
    // Many idle sessions beat in one turn of the event loop: until its end each would hold a buffer.
    if (isAlone) this.outbox.flush();
  }

  /** Every stream open now. */
  streams(): MuxStream[] {
    return this.#streams.entries();
  }

  /**
   * Opens a stream. Relay only.
   * @param head the request's head; any bytes, or null for none, on a raw stream
   * @returns the stream, or null if too many of its kind are open, too many bytes wait to be sent, the peer has announced
   * the session's end, or the session is over
   * @throws RangeError when the head is larger than `MAX_HEAD`
   */
  open(opening: StreamOpening, head: HeadWriter | null, handler: StreamHandler): MuxStream | null {
    const { kind, end } = opening, isHttp = kind === "http";
    if (this.#over || this.#drains || this.outbox.used > MAX_WAITING || !this.#hasSlot(isHttp)) return null;
    const id = this.#nextId(), mayBeOverdrawn = isHttp && this.#allowsOverdraft();
    const flags = (end ? END : 0) | (isHttp ? mayBeOverdrawn ? OVERDRAW : 0 : kind === "raw" ? RAW : UPGRADE);
    const size = this.frames.putRequest(flags, id, head ?? NO_HEAD);
    const stream = new MuxStream(this, id, kind, handler, isHttp, true);
    this.#add(stream);
    if (mayBeOverdrawn) this.#overdrawing++;
    stream.mayBeOverdrawn = mayBeOverdrawn;
    stream.carried = size;
    if (end) stream.localEnded = true;
    return stream;
  }

  /**
   * Takes the whole frames at the beginning of `bytes[start, end)`. Handlers are given views into it. A frame that breaks
   * the protocol ends the session; what a handler throws is thrown.
   * @returns the offset behind the last whole frame: what is left, never as much as the largest frame, comes again with
   * what follows it
   */
  receive(bytes: Uint8Array, start: number, end: number): number {
    this.#heardAt = this.now();
    try {
      const at = this.#receiveFrames(bytes, start, end);
      if (this.#untold >= MAX_UNTOLD) this.#acknowledge();
      return at;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end(GoAwayReason.protocolError, error.message);
    }
    return end;
  }

  /** Tells the peer that this session will end; streams in flight go on. */
  sendGoAway(reason: GoAwayReason, text: string): void {
    if (!this.#over) this.frames.putReason(FrameType.goAway, 0, reason, text);
  }

  /** Tells the client's user something, by a code of {@link NoticeCode}. Only to clients that take notices. */
  sendNotice(code: number, text: string): void {
    if (!this.#over) this.frames.putReason(FrameType.notice, 0, code, text);
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
    this.#emptyFrames = 0;
    // A request whose head was too large was not opened, so that nothing ends.
    this.#giveUpOverdraft();
    for (const { handler } of this.#streams.entries()) handler.onBeat?.();
    const now = this.now(), silence = now - this.#heardAt;
    if (silence >= SILENCE_MS) return this.end(GoAwayReason.lost, "no answer to heartbeats");
    if (silence < HEARTBEAT_MS || now - this.#pingedAt < HEARTBEAT_MS) return;
    this.#ping();
  }

  /**
   * One turn of the idle clock: streams on which nothing moved for `turns` of them are reset. Granted upgrades are left
   * alone while both directions are open: they may be quiet for hours, and whether their two ends are there is for those
   * to find out.
   */
  endIdle(turns: number): void {
    for (const stream of this.#streams.entries()) {
      const isJoined = stream.status === SWITCHING_PROTOCOLS || stream.kind === "raw";
      const isOpen = isJoined && !stream.localEnded && !stream.remoteEnded;
      if (stream.ended !== null || isOpen || ++stream.idleTurns <= turns) continue;
      stream.reset(ResetReason.idle, "nothing moved for too long");
      stream.handler.onReset(ResetReason.idle, "nothing moved for too long");
    }
  }

  /** This one has ended. */
  forget(stream: MuxStream): void {
    this.#streams.delete(stream);
    if (stream.kind !== "http") this.#upgrades--;
    if (!stream.mayBeOverdrawn) return;
    this.#overdrawing--;
    this.#giveUpOverdraft();
  }

  peerOverdraws(bytes: number): boolean {
    this.peerOverdrawn += bytes;
    return this.peerOverdrawn <= this.#peerOverdraft;
  }

  peerPaidBack(bytes: number): void {
    this.peerOverdrawn -= bytes;
    this.#giveUpOverdraft();
  }

  /** Whether the client may overdraw: as long as there are requests under way that it may do so for. Relay only. */
  #allowsOverdraft(): boolean {
    if (this.#peerOverdraft > 0) return true;
    if (!this.#overdraftOfAll.takeAll(OVERDRAFT)) return false;
    this.#peerOverdraft = OVERDRAFT;
    return true;
  }

  /** Gives back what {@link #allowsOverdraft} took, once it is of no use to anyone and nothing of it waits here. */
  #giveUpOverdraft(): void {
    if (this.#overdrawing > 0 || this.peerOverdrawn > 0 || this.#peerOverdraft === 0 || !this.#isRelay) return;
    this.#peerOverdraft = 0;
    this.#overdraftOfAll.giveBack(OVERDRAFT);
  }

  owe(id: number, bytes: number): void {
    this.#debts.set(id, bytes);
  }

  #repay(id: number, bytes: number): void {
    const debt = this.#debts.get(id);
    if (debt === undefined) return;
    const paid = Math.min(bytes, debt);
    this.overdraft += paid;
    if (paid === debt) this.#debts.delete(id);
    else this.#debts.set(id, debt - paid);
  }

  #add(stream: MuxStream): void {
    this.#streams.add(stream);
    if (stream.kind !== "http") this.#upgrades++;
  }

  #hasSlot(isHttp: boolean): boolean {
    const { maxStreams, maxUpgrades } = this.#options;
    return isHttp ? this.#streams.size - this.#upgrades < maxStreams : this.#upgrades < maxUpgrades;
  }

  get #isRelay(): boolean {
    return this.#options.onOpen === undefined;
  }

  get #overdraftOfAll(): ByteBudget {
    return this.#options.overdraft ?? overdraftOfProcess;
  }

  #nextId(): number {
    do {
      if (this.#lastId === MAX_ID) this.#wrapped = true;
      this.#lastId = this.#lastId === MAX_ID ? 1 : this.#lastId + 1;
    } while (this.#streams.has(this.#lastId));
    return this.#lastId;
  }

  #receiveFrames(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start; at < end && !this.#over;) {
      const next = this.#receiveFrame(bytes, at, end);
      if (next === at) return at;
      at = next;
    }
    return end;
  }

  /** Tells the peer what has been taken in: it knows then what is still under way. */
  #acknowledge(): void {
    if (this.#over) return;
    this.frames.putCredit(0, this.#untold);
    this.#untold = 0;
  }

  /** Returns the offset behind the frame at `at`, or `at` when it is not whole. */
  #receiveFrame(bytes: Uint8Array, at: number, have: number): number {
    if (have - at < 4) return at;
    const length = readU32(bytes, at), start = at + FRAME_HEAD, end = start + length;
    if (length > MAX_PAYLOAD) throw new ProtocolError(`a frame of ${length} bytes is too large`);
    if (end > have) return at;
    const type = bytes[at + 4], flags = bytes[at + 5], id = readU32(bytes, at + 6);
    if (id !== 0) this.#untold += end - at;
    if (id === 0) this.#onSessionFrame(type, bytes, start, end);
    else if (type === FrameType.request) this.#onRequest(flags, id, bytes, start, end);
    else this.#onStreamFrame(type, flags, id, bytes, start, end);
    return end;
  }

  #onSessionFrame(type: number, bytes: Uint8Array, start: number, end: number): void {
    if (type === FrameType.credit) return this.#onTaken(readCredit(bytes, start, end));
    this.#countEmpty();
    switch (type) {
      case FrameType.ping:
        if (end - start !== 8) throw new ProtocolError("a PING holds 8 bytes");
        return this.#answerPing(bytes, start, end);
      case FrameType.pong:
        return this.#onPong();
      case FrameType.goAway: {
        const { code, text } = readReason(bytes, start, end);
        const reason = Object.values(GoAwayReason).find((known) => known === code) ?? GoAwayReason.closed;
        this.#drains = true;
        return this.#options.onGoAway?.(reason, text);
      }
      case FrameType.notice: {
        if (this.#options.onNotice === undefined) throw new ProtocolError("nobody asked for notices");
        const { code, text } = readReason(bytes, start, end);
        return this.#options.onNotice(code, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} needs a stream`);
    }
  }

  /** The peer has taken in so many bytes more of what was sent. */
  #onTaken(bytes: number): void {
    if (bytes < MAX_UNTOLD) this.#countEmpty();
    if (!this.outbox.takenIn(bytes)) throw new ProtocolError("more was taken in than was sent");
    this.measureRoundTrip();
  }

  /** One answer waits at most: a peer that pings without reading must not fill memory. */
  #answerPing(bytes: Uint8Array, start: number, end: number): void {
    const { outbox } = this;
    if (this.#pongIn === outbox.messages) return;
    const isAlone = outbox.used === HEADROOM;
    this.frames.put(FrameType.pong, 0, 0, bytes, start, end);
    this.#pongIn = outbox.messages;
    // As in beat(): the heartbeats of many clients may arrive in one turn, each alone in its message.
    if (isAlone) outbox.flush();
  }

  /** What waited on the way, behind bulk or in a busy process, is no part of a round trip: the shorter ones count more. */
  #onPong(): void {
    const tookMs = this.#heardAt - this.#pingedAt;
    // One that nobody asked for.
    if (tookMs === Infinity) return;
    // The first one also waits for code that has not run before, at both ends.
    const isFirst = this.#shortestMs === Infinity;
    this.#shortestMs = Math.min(this.#shortestMs, tookMs);
    this.outbox.mayBeUnderWay = UNDER_WAY + LINE * this.#shortestMs;
    const known = this.#roundTripMs;
    this.#roundTripMs = tookMs < known ? tookMs : known + Math.min(tookMs - known, known) / 16;
    if (isFirst) this.#ping();
  }

  /** Counts a frame that carries nothing. */
  #countEmpty(): void {
    if (++this.#emptyFrames > MAX_EMPTY_FRAMES) throw new ProtocolError("too many frames that carry nothing");
  }

  #onRequest(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const { onOpen } = this.#options;
    if (onOpen === undefined) throw new ProtocolError("only the relay opens streams");
    if (this.#streams.has(id)) throw new ProtocolError(`stream ${id} is open already`);
    if (end - start > MAX_HEAD) throw new ProtocolError("a request head is too large");
    if (((id - this.#lastId - 1) >>> 0) >= HALF_OF_IDS) throw new ProtocolError(`stream ${id} comes out of turn`);
    if (id < this.#lastId) this.#wrapped = true;
    this.#lastId = id;
    const opening = readOpening(flags), isHttp = opening.kind === "http";
    const hasSlot = this.#hasSlot(isHttp), mayOverdraw = isHttp && (flags & OVERDRAW) !== 0;
    const stream = new MuxStream(this, id, opening.kind, REFUSED, mayOverdraw, false);
    this.#add(stream);
    if (!hasSlot) return stream.reset(ResetReason.limit, "too many requests at a time");
    stream.remoteEnded = opening.end;
    stream.carried = end - start;
    stream.handler = onOpen(stream, bytes, start, end, opening);
  }

  #onStreamFrame(type: number, flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      // A frame may cross the reset of its stream on the way. One for a stream that never was is a defect.
      if (!this.#wasOpen(id)) throw new ProtocolError(`stream ${id} was never opened`);
      if (!STREAM_TYPES.has(type)) throw new ProtocolError(`a frame of type ${type} is unknown`);
      if (type === FrameType.reset || start === end) this.#countEmpty();
      if (type === FrameType.credit) this.#repay(id, readCredit(bytes, start, end));
      else if (type === FrameType.reset) this.#repay(id, Infinity);
      return;
    }
    stream.idleTurns = 0;
    switch (type) {
      case FrameType.response:
        return this.#onResponse(stream, flags, bytes, start, end);
      case FrameType.data: {
        const last = (flags & END) !== 0;
        if (start === end && !last) this.#countEmpty();
        this.#takePiece(stream, end - start);
        if (last) stream.endRemote();
        return stream.handler.onData(bytes.subarray(start, end), last);
      }
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
        stream.finish(reason, false, stream.remoteEnded);
        return stream.handler.onReset(reason, text);
      }
      default:
        throw new ProtocolError(`a frame of type ${type} is unknown`);
    }
  }

  #onResponse(stream: MuxStream, flags: number, bytes: Uint8Array, start: number, end: number): void {
    const { handler } = stream;
    if (handler.onResponse === undefined || stream.kind === "raw") throw new ProtocolError("only the client answers");
    if (stream.status !== 0) throw new ProtocolError(`stream ${stream.id} was answered twice`);
    if (end - start < 4) throw new ProtocolError("a RESPONSE was cut short");
    const status = readU16(bytes, start), blockStart = start + 4, blockEnd = blockStart + readU16(bytes, start + 2);
    if (blockEnd > end) throw new ProtocolError("a RESPONSE head was cut short");
    stream.carried += blockEnd - blockStart;
    const last = (flags & END) !== 0;
    if (status < 200 && status !== SWITCHING_PROTOCOLS) {
      this.#checkInterim(stream, status, blockEnd - blockStart, last || blockEnd < end);
      return handler.onInterim?.(status, bytes, blockStart, blockEnd);
    }
    if (status === SWITCHING_PROTOCOLS && stream.kind !== "upgrade") throw new ProtocolError("101 answers no upgrade");
    stream.status = status;
    this.#takePiece(stream, end - blockEnd);
    if (stream.kind === "upgrade" && status !== SWITCHING_PROTOCOLS) stream.localEnded = true;
    if (last) stream.endRemote();
    handler.onResponse(status, bytes, blockStart, blockEnd, end, last);
  }

  #checkInterim(stream: MuxStream, status: number, size: number, hasMore: boolean): void {
    if (status < 100) throw new ProtocolError(`a status of ${status}`);
    if (hasMore) throw new ProtocolError("an interim answer is no end and has no body");
    if (size > MAX_SMALL_BLOCK) throw new ProtocolError("an interim answer is too large");
    if (++stream.interims > MAX_INTERIM) throw new ProtocolError("too many interim answers");
  }

  #onTrailers(stream: MuxStream, bytes: Uint8Array, start: number, end: number): void {
    if (end - start > MAX_SMALL_BLOCK) throw new ProtocolError("trailers are too large");
    if (stream.status === SWITCHING_PROTOCOLS || stream.kind === "raw") {
      throw new ProtocolError("only HTTP bodies have trailers");
    }
    this.#takePiece(stream, 0);
    stream.carried += end - start;
    stream.endRemote();
    if (stream.handler.onTrailers === undefined) stream.handler.onData(EMPTY, true);
    else stream.handler.onTrailers(bytes, start, end);
  }

  #takePiece(stream: MuxStream, size: number): void {
    if (size > MAX_PIECE) throw new ProtocolError(`a piece of ${size} bytes is too large`);
    if (stream.remoteEnded) throw new ProtocolError(`stream ${stream.id} went on after its end`);
    // The relay's body needs no answer first, unless it is what goes through an upgrade.
    const isDue = stream.status !== 0 || stream.kind === "raw" || (!this.#isRelay && stream.kind === "http");
    if (!isDue) throw new ProtocolError(`stream ${stream.id} sent a body before its answer`);
    stream.take(size);
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

/**
 * How much may be under way before bodies wait, in bytes: what a fast line carries in a round trip, and this besides. All of
 * it is before whatever is small and sent next, in a queue that a busy peer is slow to read.
 */
const UNDER_WAY = 256 * 1024;
/** Of a line of 2.4 Gbit/s, in bytes a millisecond. */
const LINE = 300_000;

/** A round trip is measured no more often than this. */
const REMEASURE_MS = 1000;

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

/** The handler of a stream that was refused: nothing will come of it. */
const REFUSED: StreamHandler = { onData() {}, onReset() {} };

/** The empty opening of a raw stream. */
const NO_HEAD: HeadWriter = { headSize: 0, writeHead: (_into, at) => at };

/** @throws ProtocolError for flags that exclude each other */
function readOpening(flags: number): StreamOpening {
  const isEnd = (flags & END) !== 0;
  if ((flags & (UPGRADE | RAW)) === 0) return isEnd ? Opening.bodyless : Opening.withBody;
  if (isEnd) throw new ProtocolError("a request for an upgrade has no END");
  if ((flags & RAW) === 0) return Opening.upgrade;
  if ((flags & UPGRADE) !== 0) throw new ProtocolError("a raw stream is no upgrade");
  return Opening.raw;
}

function readCredit(bytes: Uint8Array, start: number, end: number): number {
  if (end - start !== 4) throw new ProtocolError("a CREDIT holds 4 bytes");
  return readU32(bytes, start);
}

function readReason(bytes: Uint8Array, start: number, end: number): { code: number; text: string } {
  if (end - start < 2 || end - start > 2 + MAX_REASON) throw new ProtocolError("a reason has a wrong length");
  return { code: readU16(bytes, start), text: DECODER.decode(bytes.subarray(start + 2, end)) };
}
