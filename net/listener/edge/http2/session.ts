import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../../connection/mod.ts";
import { delay } from "../../../../common/delay.ts";
import { errorResponse, HttpError } from "../../../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../../../common/log.ts";
import { yieldToEventLoop } from "../../../../common/event_loop.ts";
import { findExpectationFault } from "../../_exchange.ts";
import type { ListenerLimits } from "../../limits.ts";
import { sendResponse } from "../../send_response.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import { BodyCut, type ExchangeHandler } from "../../types.ts";
import { type Block, BlockReader } from "./block_reader.ts";
import { Http2Exchange, type Http2Line } from "./exchange.ts";
import { Flood } from "./flood.ts";
import {
  ConnectionError,
  ErrorCode,
  FIRST_WINDOW,
  Flag,
  FRAME_HEAD,
  FrameType,
  MAX_FRAME,
  MAX_WINDOW,
  PREFACE,
  readU31,
  readU32,
  Setting,
  SETTING_SIZE,
  StreamError,
  unpad,
  unpaddedSize,
  writeU32,
} from "./frames.ts";
import { listSizeOf, RequestFields } from "./request_fields.ts";
import { Sender } from "./sender.ts";
import type { Http2Connection } from "./types.ts";

/** Streams that one visitor may have open. */
const MAX_STREAMS = 200;
/** Bytes of bodies that may come on a connection before any of them is read: those of its streams are smaller. */
const WINDOW = 1024 * 1024;
/** Exchanges that are begun before others have their turn. */
const MAX_BEGUN = 16;
/** How long a visitor is not read who has given up most of them already. */
const CALM_MS = 100;
/** Streams reset by this side that frames may still come for, the last ones. */
const MAX_RESET = 256;
/** How long a visitor may take to leave once all has been said, in seconds, and how much of theirs is thrown away meanwhile. */
const LINGER_SECONDS = 2;
const LINGER_BYTES = 1024 * 1024;

/** What a session is run with. */
export interface SessionOptions {
  handler: ExchangeHandler;
  limits: ListenerLimits;
  traffic: ListenerTraffic | null;
  log: Logger;
}

/** What a frame's head says. */
interface Frame {
  type: number;
  flags: number;
  stream: number;
}

/** Where blocks are gathered: one at a time, and of it only what was taken out stays. */
const fields = new RequestFields();

/** HTTP/2 with one visitor (RFC 9113), over the bytes of a connection that the edge has accepted. */
export class Http2Session implements Http2Connection, Http2Line {
  readonly remoteAddress: string;
  readonly sender: Sender;
  readonly traffic: ListenerTraffic | null;
  readonly ended: Promise<void>;
  readonly #connection: Connection;
  readonly #options: SessionOptions;
  readonly #moved: () => void;
  readonly #blocks = new BlockReader();
  readonly #flood = new Flood();
  /** Those of which a direction is open. */
  readonly #exchanges = new Map<number, Http2Exchange>();
  /** Those begun by what is being read. */
  readonly #begun: Http2Exchange[] = [];
  /** Streams reset here, the oldest first. */
  readonly #reset = new Set<number>();
  /** The stream that was opened last, 0 before the first. */
  #lastStream = 0;
  #prefaceRead = 0;
  #hasSettings = false;
  /** Exchanges begun by what was read last, and how many of them were given up in the same breath. */
  #begunAtOnce = 0;
  #givenUp = 0;
  /** Bytes of the frame that has begun, its head included; 0 while that is not known. */
  #frameSize = 0;
  #allowance = WINDOW;
  /** Bytes of bodies that were taken, of which the visitor has not been told. */
  #untold = 0;
  /** No more exchanges are begun. */
  #drains = false;
  /** All has been said; what still comes is thrown away. */
  #isLingering = false;
  #lingered = 0;
  #discarded = 0;
  /** Seconds for which a field block, or the preface, has been waited for. */
  #waited = 0;
  #end!: () => void;

  /** @param moved told when an exchange begins or ends */
  constructor(connection: Connection, remoteAddress: string, options: SessionOptions, moved: () => void) {
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.#options = options;
    this.traffic = options.traffic;
    this.#moved = moved;
    this.sender = new Sender(connection, () => connection.close());
    this.ended = new Promise((resolve) => this.#end = resolve);
  }

  get isBusy(): boolean {
    return this.#exchanges.size > 0;
  }

  /** Speaks until either side ends. */
  async run(): Promise<void> {
    try {
      this.#greet();
      await this.#readAll();
    } catch (error) {
      const isTheirs = error instanceof ConnectionError;
      if (!isTheirs) {
        this.#options.log.error("connection_failed", { reason: describeError(error), stack: stackOf(error) });
      }
      await this.#fail(isTheirs ? error : new ConnectionError(ErrorCode.internal, ""));
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#connection.close();
    this.sender.close();
    this.#leaveAll();
    this.#end();
  }

  check(limits: ListenerLimits): void {
    const isLate = (this.#blocks.openStream !== 0 || !this.#hasSettings) && ++this.#waited > limits.headSeconds;
    const isGone = this.#isLingering && ++this.#lingered > LINGER_SECONDS;
    if (isLate || isGone || this.sender.countStall() > limits.stallSeconds) return this.#connection.close();
    for (const exchange of this.#exchanges.values()) exchange.check(limits);
  }

  retire(): void {
    if (this.#drains) return;
    this.#drains = true;
    this.#sendGoAway(ErrorCode.none, "");
    this.#leaveIfDone();
  }

  taken(exchange: Http2Exchange, bytes: number, more: number): void {
    if (more > 0 && !exchange.isOver) this.sender.putNumber(FrameType.windowUpdate, exchange.id, more);
    this.#takenOfAll(bytes);
  }

  reset(exchange: Http2Exchange, code: ErrorCode): void {
    this.#resetStream(exchange.id, code);
    exchange.leave();
    this.forget(exchange);
  }

  forget(exchange: Http2Exchange): void {
    if (!this.#exchanges.delete(exchange.id)) return;
    this.#moved();
    this.#leaveIfDone();
  }

  #greet(): void {
    const { maxHeadBytes, maxFields } = this.#options.limits;
    const settings = [
      [Setting.maxConcurrentStreams, MAX_STREAMS],
      [Setting.maxHeaderListSize, listSizeOf(maxHeadBytes, maxFields)],
    ];
    const payload = new Uint8Array(6 * settings.length);
    settings.forEach(([setting, value], index) => {
      payload[6 * index + 1] = setting;
      writeU32(payload, 6 * index + 2, value);
    });
    this.sender.putFrame(FrameType.settings, 0, 0, payload);
    this.sender.putNumber(FrameType.windowUpdate, 0, WINDOW - FIRST_WINDOW);
  }

  /** Reads until the visitor ends their side. Memory follows what they send at a time. */
  async #readAll(): Promise<void> {
    let memory = acquireBuffer(SMALL), have = 0;
    try {
      for (;;) {
        // A connection that breaks is an end like any other.
        const count = await this.#connection.read(have === 0 ? memory : memory.subarray(have)).catch(() => null);
        if (count === null) return;
        have += count;
        const isFull = have === memory.length;
        let used = this.#take(memory, 0, have);
        while (this.#isFull) {
          // One visitor's hundreds of requests are no reason for others to wait, nor are those that nobody waits for.
          await (this.#givenUp > MAX_BEGUN / 2 ? delay(CALM_MS) : yieldToEventLoop());
          used = this.#take(memory, used, have);
        }
        have -= used;
        if (used > 0 && have > 0) memory.copyWithin(0, used, used + have);
        await this.sender.whenCalm();
        const wanted = isFull ? Math.min(2 * memory.length, LARGE) : have === 0 ? SMALL : memory.length;
        const size = Math.max(wanted, this.#frameSize);
        if (size > memory.length || (have === 0 && size < memory.length)) {
          const other = acquireBuffer(size);
          other.set(memory.subarray(0, have));
          releaseBuffer(memory);
          memory = other;
        }
      }
    } finally {
      releaseBuffer(memory);
    }
  }

  /** Whether as many exchanges have begun as may at a time, and more may wait in what was read. */
  get #isFull(): boolean {
    return this.#begunAtOnce === MAX_BEGUN;
  }

  /** Takes frames of `bytes[start, end)`. @returns the offset behind the last one */
  #take(bytes: Uint8Array, start: number, end: number): number {
    this.#begunAtOnce = 0;
    if (!this.#isLingering) {
      const at = this.#receive(bytes, start, end);
      this.#answerBegun();
      return at;
    }
    this.#discarded += end - start;
    if (this.#discarded > LINGER_BYTES) this.#connection.close();
    return end;
  }

  #receive(bytes: Uint8Array, from: number, end: number): number {
    let at = this.#readPreface(bytes, from, end);
    this.#frameSize = 0;
    while (end - at >= FRAME_HEAD && !this.#isLingering) {
      // What is said of those that have begun comes first: they may have been given up.
      if (this.#isFull && bytes[at + 3] === FrameType.headers) break;
      const length = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2];
      if (length > MAX_FRAME) throw new ConnectionError(ErrorCode.frameSize, "a frame is too large");
      const start = at + FRAME_HEAD;
      if (end - start < length) {
        this.#frameSize = FRAME_HEAD + length;
        break;
      }
      this.#onFrame(
        { type: bytes[at + 3], flags: bytes[at + 4], stream: readU31(bytes, at + 5) },
        bytes,
        start,
        start + length,
      );
      at = start + length;
    }
    return this.#isLingering ? end : at;
  }

  #readPreface(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    for (; at < end && this.#prefaceRead < PREFACE.length; at++) {
      if (bytes[at] !== PREFACE[this.#prefaceRead++]) throw new ConnectionError(ErrorCode.protocol, "no preface");
    }
    return at;
  }

  #onFrame(frame: Frame, bytes: Uint8Array, start: number, end: number): void {
    const { type, flags, stream } = frame;
    if (!this.#hasSettings) {
      if (type !== FrameType.settings) throw new ConnectionError(ErrorCode.protocol, "no SETTINGS come first");
      this.#hasSettings = true;
    }
    const { openStream } = this.#blocks;
    if (openStream !== 0 && (type !== FrameType.continuation || stream !== openStream)) {
      throw new ConnectionError(ErrorCode.protocol, "a field block is broken off");
    }
    const size = type === FrameType.data ? unpaddedSize(flags, bytes, start, end) : end - start;
    if (this.#flood.isFloodedBy(type, flags, size)) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many frames of little use");
    }
    try {
      this.#takeFrame(frame, bytes, start, end);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      if (this.#flood.isOneTooMany()) throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many faults");
      const exchange = this.#exchanges.get(stream);
      if (exchange === undefined) this.#resetStream(stream, error.code);
      else this.reset(exchange, error.code);
    }
  }

  #takeFrame({ type, flags, stream }: Frame, bytes: Uint8Array, start: number, end: number): void {
    switch (type) {
      case FrameType.data:
        return this.#onData(stream, flags, bytes, start, end);
      case FrameType.headers:
        return this.#onHeaders(stream, flags, bytes, start, end);
      case FrameType.priority:
        return checkPriority(stream, bytes, start, end);
      case FrameType.rstStream:
        return this.#onReset(stream, end - start);
      case FrameType.settings:
        return this.#onSettings(stream, flags, bytes, start, end);
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, "a visitor promises nothing");
      case FrameType.ping:
        return this.#onPing(stream, flags, bytes, start, end);
      case FrameType.goAway:
        if (stream !== 0) throw new ConnectionError(ErrorCode.protocol, "GOAWAY on a stream");
        return;
      case FrameType.windowUpdate:
        return this.#onWindowUpdate(stream, bytes, start, end);
      case FrameType.continuation:
        return this.#onContinuation(flags, bytes, start, end);
    }
  }

  #onData(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    const exchange = this.#find(stream, "DATA");
    this.#allowance -= size;
    if (this.#allowance < 0) throw new ConnectionError(ErrorCode.flowControl, "more came than may come");
    const body = unpad(flags, bytes, start, end);
    if (exchange === null) return this.#takenOfAll(size);
    try {
      exchange.onData(body, size, (flags & Flag.endStream) !== 0);
    } catch (error) {
      // It goes with its stream, and the connection goes on.
      this.#takenOfAll(size);
      throw error;
    }
  }

  #onHeaders(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (stream === 0) throw new ConnectionError(ErrorCode.protocol, "HEADERS on no stream");
    if (stream > this.#lastStream && stream % 2 === 0) throw new ConnectionError(ErrorCode.protocol, "an even stream");
    const block = this.#blocks.begin(stream, flags, bytes, start, end);
    if (block !== null) this.#onBlock(block);
    else this.#waited = 0;
  }

  #onContinuation(flags: number, bytes: Uint8Array, start: number, end: number): void {
    const block = this.#blocks.goOn(flags, bytes, start, end);
    if (block !== null) this.#onBlock(block);
  }

  /** A field block is whole: a request's, or one behind its body. */
  #onBlock(block: Block): void {
    const { stream, endStream } = block;
    const exchange = this.#exchanges.get(stream), isTrailers = stream <= this.#lastStream;
    fields.begin(isTrailers, this.#options.limits.maxHeadBytes);
    this.#blocks.read(block, fields.add);
    if (!isTrailers) return this.#open(stream, endStream);
    if (exchange === undefined) {
      if (this.#reset.has(stream)) return;
      throw new ConnectionError(ErrorCode.streamClosed, "HEADERS on a stream that is closed");
    }
    if (exchange.hasEnded) throw new StreamError(ErrorCode.streamClosed, "HEADERS behind the end");
    if (!endStream) throw new StreamError(ErrorCode.protocol, "trailers without an end");
    if (fields.isTooLarge) throw new StreamError(ErrorCode.enhanceYourCalm, "trailers are too large");
    exchange.onTrailers(fields.takeTrailers());
  }

  #open(stream: number, endStream: boolean): void {
    this.#lastStream = stream;
    this.#begunAtOnce++;
    if (this.#drains || this.#exchanges.size >= MAX_STREAMS) {
      throw new StreamError(ErrorCode.refusedStream, "too many streams, or too late");
    }
    const exchange = new Http2Exchange(this, stream, fields, endStream, this.#options.limits.maxFields);
    this.#exchanges.set(stream, exchange);
    this.#begun.push(exchange);
    this.#moved();
  }

  /** Has those answered that were begun, and have not been given up at once. */
  #answerBegun(): void {
    this.#givenUp = 0;
    for (const exchange of this.#begun.splice(0)) {
      if (!exchange.isOver) {
        void this.#answer(exchange);
        continue;
      }
      this.#givenUp++;
      if (this.#flood.isOneTooMany()) throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many were given up");
    }
  }

  async #answer(exchange: Http2Exchange): Promise<void> {
    const { handler, log } = this.#options;
    try {
      const fault = exchange.fault ?? findExpectationFault(exchange);
      if (fault !== null) return await sendResponse(exchange, errorResponse(fault, exchange.header("accept")));
      if (exchange.mayBeEmpty) await exchange.findBody();
      const response = await handler(exchange);
      if (response !== null) await sendResponse(exchange, response);
    } catch (error) {
      if (!(error instanceof BodyCut)) {
        log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
      }
      if (exchange.response.begun) return exchange.response.cut();
      const failure = new HttpError(500, "internal_error", "The server failed to answer this request.");
      await sendResponse(exchange, errorResponse(failure, exchange.header("accept")));
    }
  }

  #onReset(stream: number, size: number): void {
    if (size !== 4) throw new ConnectionError(ErrorCode.frameSize, "RST_STREAM has another size");
    this.#checkOpened(stream, "RST_STREAM");
    const exchange = this.#exchanges.get(stream);
    if (exchange === undefined) return;
    exchange.leave();
    this.forget(exchange);
  }

  #onSettings(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (stream !== 0) throw new ConnectionError(ErrorCode.protocol, "SETTINGS on a stream");
    const isAck = (flags & Flag.ack) !== 0;
    if ((end - start) % 6 !== 0 || (isAck && start !== end)) {
      throw new ConnectionError(ErrorCode.frameSize, "SETTINGS have another size");
    }
    if (isAck) return;
    let window = this.sender.initialWindow;
    for (let at = start; at < end; at += SETTING_SIZE) {
      const setting = bytes[at] << 8 | bytes[at + 1], value = readU32(bytes, at + 2);
      checkSetting(setting, value);
      if (setting === Setting.initialWindowSize) window = value;
    }
    this.#moveWindows(window);
    this.sender.putFrame(FrameType.settings, Flag.ack, 0);
  }

  /** Applies a frame's last INITIAL_WINDOW_SIZE once: each change costs a step for every open stream. */
  #moveWindows(initialWindow: number): void {
    const { sender } = this, more = initialWindow - sender.initialWindow;
    if (more === 0) return;
    sender.initialWindow = initialWindow;
    for (const { response: { outgoing } } of this.#exchanges.values()) {
      outgoing.window += more;
      if (outgoing.window > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, "a window is too large");
      sender.wake(outgoing);
    }
  }

  #onPing(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (stream !== 0) throw new ConnectionError(ErrorCode.protocol, "PING on a stream");
    if (end - start !== 8) throw new ConnectionError(ErrorCode.frameSize, "PING has another size");
    if ((flags & Flag.ack) === 0) this.sender.putFrame(FrameType.ping, Flag.ack, 0, bytes.subarray(start, end));
  }

  #onWindowUpdate(stream: number, bytes: Uint8Array, start: number, end: number): void {
    if (end - start !== 4) throw new ConnectionError(ErrorCode.frameSize, "WINDOW_UPDATE has another size");
    const more = readU31(bytes, start), { sender } = this;
    if (stream === 0) {
      if (more === 0) throw new ConnectionError(ErrorCode.protocol, "WINDOW_UPDATE of nothing");
      sender.window += more;
      if (sender.window > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, "a window is too large");
      return sender.wakeAll();
    }
    this.#checkOpened(stream, "WINDOW_UPDATE");
    const outgoing = this.#exchanges.get(stream)?.response.outgoing;
    if (outgoing === undefined) return;
    if (more === 0) throw new StreamError(ErrorCode.protocol, "WINDOW_UPDATE of nothing");
    outgoing.window += more;
    if (outgoing.window > MAX_WINDOW) throw new StreamError(ErrorCode.flowControl, "a window is too large");
    sender.wake(outgoing);
  }

  /** The exchange that a frame is for, or null where it was reset here. */
  #find(stream: number, what: string): Http2Exchange | null {
    this.#checkOpened(stream, what);
    const exchange = this.#exchanges.get(stream);
    if (exchange !== undefined) return exchange;
    if (this.#reset.has(stream)) return null;
    throw new ConnectionError(ErrorCode.streamClosed, `${what} on a stream that is closed`);
  }

  #checkOpened(stream: number, what: string): void {
    if (stream === 0 || stream > this.#lastStream) {
      throw new ConnectionError(ErrorCode.protocol, `${what} on a stream that was never opened`);
    }
  }

  #resetStream(stream: number, code: ErrorCode): void {
    this.sender.putNumber(FrameType.rstStream, stream, code);
    this.#reset.add(stream);
    if (this.#reset.size <= MAX_RESET) return;
    const [oldest] = this.#reset;
    this.#reset.delete(oldest);
  }

  #takenOfAll(bytes: number): void {
    this.#untold += bytes;
    if (this.#untold < WINDOW / 2) return;
    this.sender.putNumber(FrameType.windowUpdate, 0, this.#untold);
    this.#allowance += this.#untold;
    this.#untold = 0;
  }

  #sendGoAway(code: ErrorCode, text: string): void {
    const reason = ENCODER.encode(text), payload = new Uint8Array(8 + reason.length);
    writeU32(payload, writeU32(payload, 0, this.#lastStream), code);
    payload.set(reason, 8);
    this.sender.putFrame(FrameType.goAway, 0, 0, payload);
  }

  /** The visitor has broken the protocol, or we have failed: they are told, and closing at once could destroy that. */
  async #fail(fault: ConnectionError): Promise<void> {
    this.#isLingering = this.#drains = true;
    this.#leaveAll();
    this.#sendGoAway(fault.code, fault.message);
    await this.sender.whenDrained();
    await this.#connection.closeWrite();
    // What still comes is thrown away for a moment.
    await this.#readAll();
  }

  /** Once nothing is under way any more, after a GOAWAY. */
  #leaveIfDone(): void {
    if (!this.#drains || this.#isLingering || this.#exchanges.size > 0) return;
    this.#isLingering = true;
    void this.sender.whenDrained().then(() => this.#connection.closeWrite());
  }

  #leaveAll(): void {
    for (const exchange of this.#exchanges.values()) exchange.leave();
    this.#exchanges.clear();
  }
}

const ENCODER = new TextEncoder();

/** Checks a SETTINGS entry (RFC 9113, section 6.5.2). @throws ConnectionError for a value out of range */
function checkSetting(setting: number, value: number): void {
  if (setting === Setting.enablePush && value > 1) {
    throw new ConnectionError(ErrorCode.protocol, "ENABLE_PUSH is 0 or 1");
  }
  if (setting === Setting.maxFrameSize && (value < MAX_FRAME || value > 0xffffff)) {
    throw new ConnectionError(ErrorCode.protocol, "MAX_FRAME_SIZE");
  }
  if (setting === Setting.initialWindowSize && value > MAX_WINDOW) {
    throw new ConnectionError(ErrorCode.flowControl, "INITIAL_WINDOW_SIZE");
  }
}

/** Priorities have no effect here; who sends them must do it right. */
function checkPriority(stream: number, bytes: Uint8Array, start: number, end: number): void {
  if (stream === 0) throw new ConnectionError(ErrorCode.protocol, "PRIORITY on no stream");
  if (end - start !== 5) throw new StreamError(ErrorCode.frameSize, "PRIORITY has another size");
  if (readU31(bytes, start) === stream) throw new StreamError(ErrorCode.protocol, "a stream depends on itself");
}
