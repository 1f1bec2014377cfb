import { type Connection, readFor, type Receiver, type Sender, writeFor } from "../../connection/mod.ts";
import { errorResponse, HttpError } from "../../../common/http_error.ts";
import { findHeadEnd, RequestHead, RequestSyntaxError } from "../../http1/mod.ts";
import { describeError, type Logger, stackOf } from "../../../common/log.ts";
import type { ListenerLimits } from "../limits.ts";
import { findAccept, findExpectationFault, HEAD_TOO_LARGE, headFault } from "../_exchange.ts";
import { sendResponse } from "../send_response.ts";
import type { ListenerTraffic } from "../traffic.ts";
import { BodyCut, type ExchangeHandler } from "../types.ts";
import { EdgeExchange } from "./exchange.ts";
import type { Http2Connection, Http2Front } from "./http2/types.ts";
import { acquireBuffer, LARGE, MEDIUM, releaseBuffer, SMALL } from "../../../common/buffers/buffer_pool.ts";
import { coarseNow } from "../../../common/event_loop.ts";
import type { Answered, Line } from "./types.ts";
import { UpgradedConnection } from "./upgraded.ts";

/** What a connection asks of the listener it came to. */
export interface ListenerContext {
  readonly limits: ListenerLimits;
  readonly traffic: ListenerTraffic | null;
  readonly handler: ExchangeHandler;
  readonly log: Logger;
  /** Whole seconds since the listener began: the one clock of all time limits. */
  readonly tick: number;
  /** Whether each connection ends with the answer it is at. */
  readonly closing: boolean;
  /** This connection has ended. */
  forget(connection: EdgeConnection): void;
}

/** What a connection is waiting for, which decides how long it may. */
export type Phase = "handshake" | "head" | "idle" | "exchange" | "linger" | "upgraded" | "http2" | "closed";

/** How long the rest of a request may come in after its answer, in seconds, so that closing does not destroy the answer. */
const LINGER_SECONDS = 2;
/** And how much of it, in bytes: whoever goes on sending is held back, which leaves their answer as it is. */
const LINGER_BYTES = 1024 * 1024;
/** Of a head that is too large a little more is read, as the answer's form depends on what stands behind a long target. */
const BEYOND_HEAD = 4096;
/**
 * A visitor who ends their side this soon after the request, in milliseconds, has only said that nothing follows, and
 * waits for the answer. Later, and without an answer, it is how programs leave.
 */
const HALF_CLOSE_MS = 20;
/** Without an answer for so long, in seconds, it was somebody who left at once after all. */
const HALF_CLOSED_SECONDS = 3;

/** Written at a time, in bytes: the clock of a stalled visitor begins anew with each. */
const WRITE_BYTES = 256 * 1024;

/**
 * A visitor's connection: reads heads strictly, has one exchange at a time answered, and reads a body only as somebody
 * consumes it. One read is pending while it is idle, and while an exchange without a body runs: that one notices a
 * visitor who leaves, and brings the next head.
 */
export class EdgeConnection implements Line {
  readonly remoteAddress: string;
  /** By which its limit is counted. */
  readonly network: string;
  readonly secure: boolean;
  readonly front: ListenerContext;
  readonly head = new RequestHead();
  phase: Phase = "head";
  /** Tick at which {@link phase} began, or something last moved in it. */
  since: number;
  /** Tick at which the write under way began, or -1. */
  writingSince = -1;
  /** The connection ends with this answer. */
  mustClose = false;
  /** There is no room for it but for what must get in. */
  isOverLimit = false;
  readonly #connection: Connection;
  /** Unread bytes are `#memory[#at, #end)`; a read under way lands behind them. */
  #memory: Uint8Array<ArrayBuffer> = acquireBuffer(SMALL);
  #at = 0;
  #end = 0;
  #reading = false;
  /** How far the end of an incomplete head was looked for; 0 for a head that has just begun. */
  #searched = 0;
  /** What the next head may need: as much as the last one. */
  #headSize = SMALL;
  /** Where the head of the running exchange lies once {@link #memory} is another. */
  #headMemory: Uint8Array<ArrayBuffer> | null = null;
  #exchange: EdgeExchange | null = null;
  /** Of the end of an answer that is being written. */
  #lastMemory: Uint8Array<ArrayBuffer> = NO_MEMORY;
  #startedAt = 0;
  /** The visitor has ended their side, and waits for the answer. */
  #isHalfClosed = false;
  #upgraded: UpgradedConnection | null = null;
  /** As {@link writingSince}: the head of its answer may still be on its way. */
  #upgradeWritingSince = -1;
  #http2: Http2Connection | null = null;
  /** Bytes thrown away while lingering. */
  #discarded = 0;

  constructor(front: ListenerContext, connection: Connection, remoteAddress: string, network: string, secure: boolean) {
    this.front = front;
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.network = network;
    this.secure = secure;
    this.since = front.tick;
  }

  /** Reads the first head. */
  start(): void {
    this.#enter("head");
    this.#read();
  }

  /** Goes on in HTTP/2. */
  startHttp2(front: Http2Front): void {
    this.#enter("http2");
    releaseBuffer(this.#memory);
    const moved = () => this.since = this.front.tick;
    this.#http2 = front.carry(this.#connection, this.remoteAddress, moved);
    void this.#http2.ended.then(() => this.close());
  }

  get traffic(): ListenerTraffic | null {
    return this.front.traffic;
  }

  get isClosing(): boolean {
    return this.front.closing;
  }

  /** Whether it can be ended without taking an answer from anybody. */
  get isIdle(): boolean {
    if (this.#http2 !== null) return !this.#http2.isBusy;
    return this.#exchange === null && this.phase !== "upgraded" && this.phase !== "closed";
  }

  /** Ends it at once. */
  close(): void {
    if (this.phase === "closed") return;
    this.phase = "closed";
    this.#connection.close();
    const exchange = this.#exchange;
    if (!this.#reading && this.#http2 === null && !exchange?.input?.isLent) releaseBuffer(this.#memory);
    this.front.forget(this);
    this.#exchange = null;
    exchange?.leave();
    this.#upgraded?.lost();
  }

  /** The listener stops: an idle connection ends now, a busy one with its answer. */
  stop(): void {
    this.mustClose = true;
    // HTTP/2 tells its visitors by itself, and ends when their exchanges are done.
    if (this.isIdle && this.#http2 === null) this.close();
  }

  /** Once a second: ends what takes too long. */
  check(limits: ListenerLimits): void {
    const waited = this.front.tick - this.since;
    const writingSince = Math.max(this.writingSince, this.#upgradeWritingSince);
    if (writingSince >= 0 && this.front.tick - writingSince > limits.stallSeconds) return this.close();
    switch (this.phase) {
      case "handshake":
        if (waited > limits.handshakeSeconds) this.close();
        break;
      case "head":
        if (waited > limits.headSeconds) this.#refuseLate();
        break;
      case "idle":
        if (waited > limits.idleSeconds) this.close();
        break;
      case "http2":
        this.#http2?.check(limits);
        if (waited > limits.idleSeconds && this.isIdle) this.#http2?.retire();
        break;
      case "linger":
        if (waited > LINGER_SECONDS) this.close();
        break;
      case "exchange":
        if (this.#exchange?.input?.isTooSlow(limits)) this.close();
        else if (this.#isHalfClosed && this.writingSince < 0 && waited > HALF_CLOSED_SECONDS) this.close();
    }
  }

  /** Writes, with the clock on it. What cannot be written means that the visitor has gone. */
  write(bytes: Uint8Array): Promise<void> {
    this.writingSince = this.front.tick;
    if (bytes.length > WRITE_BYTES) return this.#writeParts(bytes);
    return this.#connection.write(bytes).then(this.#onWritten, this.#onUnwritten);
  }

  writeLast(bytes: Uint8Array, memory: Uint8Array<ArrayBuffer>): void {
    this.#lastMemory = memory;
    if (bytes.length > WRITE_BYTES) return void this.#writeParts(bytes).then(this.#last.onWritten);
    this.writingSince = this.front.tick;
    writeFor(this.#connection, bytes, this.#last);
  }

  /** A visitor who takes something of much has not stalled. */
  async #writeParts(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && this.phase !== "closed"; at += WRITE_BYTES) {
      await this.write(bytes.subarray(at, at + WRITE_BYTES));
    }
  }

  readonly #onWritten = (): void => {
    this.writingSince = -1;
    this.since = this.front.tick;
  };

  readonly #onUnwritten = (): void => this.close();

  // Made once a connection, not once an answer.
  readonly #last: Sender = {
    onWritten: () => {
      this.#onWritten();
      this.#giveLast();
      if (this.#exchange !== null) this.exchangeOver(this.#exchange);
    },
    onUnwritten: () => {
      this.close();
      this.#giveLast();
    },
  };

  #giveLast(): void {
    releaseBuffer(this.#lastMemory);
    this.#lastMemory = NO_MEMORY;
  }

  /** As {@link write}, but it tells whoever took the connection over what broke. */
  readonly #writeUpgraded = (bytes: Uint8Array): Promise<void> => {
    this.#upgradeWritingSince = this.front.tick;
    return this.#connection.write(bytes).finally(this.#onUpgradeWritten);
  };

  readonly #onUpgradeWritten = (): void => void (this.#upgradeWritingSince = -1);

  /** Reads more of a body. @throws BodyCut when the visitor has left */
  async readBody(into: Uint8Array): Promise<number> {
    this.#reading = true;
    let count: number | null = null, cause: unknown;
    try {
      count = await this.#connection.read(into);
    } catch (error) {
      cause = error;
    }
    this.#reading = false;
    if (this.phase === "linger") this.#discard(count);
    else if (count !== null && this.phase === "exchange") return count;
    else this.close();
    throw new BodyCut("the visitor left", { cause });
  }

  /** The bytes that came with the head and are not taken yet. */
  get rest(): Uint8Array<ArrayBuffer> {
    return this.#memory.subarray(this.#at, this.#end);
  }

  /** Takes `count` of {@link rest}. */
  takeRest(count: number): void {
    this.#at += count;
  }

  /**
   * The body has been read to its end. What follows is the next head, or the visitor leaving.
   * @param memory of the body, given over, when `memory[at, end)` came behind it
   */
  bodyEnded(memory: Uint8Array<ArrayBuffer> | null, at: number, end: number): void {
    // Whoever ends their side now has sent all that they wanted to.
    this.#startedAt = coarseNow();
    if (memory === null) return this.#readAhead();
    this.#headMemory ??= this.#memory;
    [this.#memory, this.#at, this.#end] = [memory, at, end];
  }

  /** Hands the connection over, with what has been read of it. */
  upgrade(): Connection {
    this.phase = "upgraded";
    // Whether a quiet visitor is still there is for the system to find out: nobody here knows what may be sent.
    this.#connection.keepAlive?.();
    const upgraded = new UpgradedConnection(
      this.#connection,
      this.rest.slice(),
      this.#writeUpgraded,
      () => this.close(),
    );
    this.#upgraded = upgraded;
    this.#exchange?.settle();
    this.#exchange = null;
    if (this.#headMemory !== null) releaseBuffer(this.#headMemory);
    this.#headMemory = null;
    if (this.#reading) upgraded.awaitEarly();
    else this.#dropMemory();
    return upgraded;
  }

  /** Breaks an answer off. */
  cut(exchange: Answered): void {
    if (this.#exchange === exchange) this.close();
  }

  /** The answer is out. */
  exchangeOver(over: Answered): void {
    const exchange = this.#exchange;
    if (exchange === null || exchange !== over) return;
    const { input } = exchange;
    if (!this.mustClose) input?.skipRead();
    if (input?.isOver === false) this.mustClose = true;
    this.#exchange = null;
    if (input?.isLent) this.#leaveMemory();
    exchange.settle();
    if (this.#headMemory !== null) releaseBuffer(this.#headMemory);
    this.#headMemory = null;
    if (this.mustClose || this.front.closing) return this.#linger();
    this.#next();
  }

  /** Somebody still holds a piece of the body, as one who passes it on slowly: what it lies in is not used again. */
  #leaveMemory(): void {
    this.#headMemory = null;
    // What is read into holds no pieces.
    if (this.#reading) return;
    const { rest } = this;
    this.#memory = acquireBuffer(rest.length);
    this.#memory.set(rest);
    [this.#at, this.#end] = [0, rest.length];
  }

  #enter(phase: Phase): void {
    this.phase = phase;
    this.since = this.front.tick;
  }

  #read(): void {
    this.#reading = true;
    const into = this.#end === 0 ? this.#memory : this.#memory.subarray(this.#end);
    readFor(this.#connection, into, this.#receiver);
  }

  readonly #receiver: Receiver = {
    onRead: (count) => {
      this.#reading = false;
      if (this.phase === "closed") return releaseBuffer(this.#memory);
      if (this.#upgraded !== null) return this.#takeEarly(this.#upgraded, count);
      if (this.phase === "linger") return this.#discard(count);
      if (count === null) return this.#onEnd();
      this.#end += count;
      if (this.#exchange === null) this.#next();
    },
    onBroken: () => {
      this.#reading = false;
      if (this.#upgraded !== null) this.#takeEarly(this.#upgraded, null);
      else this.close();
    },
  };

  #takeEarly(upgraded: UpgradedConnection, count: number | null): void {
    upgraded.takeEarly(this.#memory, this.#end, count);
    this.#dropMemory();
  }

  /** Nothing is read here any more: thousands of sessions hold no memory twice. */
  #dropMemory(): void {
    releaseBuffer(this.#memory);
    this.#memory = NO_MEMORY;
    this.#at = this.#end = 0;
  }

  /** The visitor has ended their side. */
  #onEnd(): void {
    if (this.#exchange === null || coarseNow() - this.#startedAt > HALF_CLOSE_MS) return this.close();
    this.mustClose = this.#isHalfClosed = true;
    this.since = this.front.tick;
  }

  /** Goes on with what has been read behind the last exchange, or waits for more. */
  #next(): void {
    // Some programs send an empty line behind a body (RFC 9112, section 2.2).
    while (this.#end - this.#at >= 2 && this.#memory[this.#at] === CR && this.#memory[this.#at + 1] === LF) {
      this.#at += 2;
    }
    if (this.#at === this.#end) {
      if (!this.#reading) this.#at = this.#end = 0;
      this.#enter("idle");
      if (!this.#reading) this.#read();
      return;
    }
    if (this.phase !== "head") this.#enter("head");
    // Of an empty line only the beginning may be there.
    const isCut = this.#end - this.#at === 1 && this.#memory[this.#at] === CR;
    let isWhole: boolean;
    try {
      isWhole = !isCut && this.#parseHead();
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return this.#refuse(headFault(error));
    }
    if (isWhole) return this.#begin();
    if (this.#reading) return;
    this.#makeRoom();
    this.#read();
  }

  #parseHead(): boolean {
    const { maxHeadBytes, maxFields } = this.front.limits;
    const at = this.#at, end = Math.min(this.#end, at + maxHeadBytes + BEYOND_HEAD);
    if (this.#searched > 0) {
      const found = findHeadEnd(this.#memory, at, Math.max(at, at + this.#searched), end);
      if (found < 0) return this.#isShort(end);
    }
    this.#searched = 0;
    if (this.head.parse(this.#memory, at, end, maxFields)) {
      if (this.head.end - at > maxHeadBytes) throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
      return true;
    }
    if (findHeadEnd(this.#memory, at, at, end) >= 0) throw new RequestSyntaxError("The request's head is malformed.");
    return this.#isShort(end);
  }

  /** Notes how far was looked. @throws RequestSyntaxError when the head has all the bytes that it may have */
  #isShort(end: number): false {
    this.#searched = end - this.#at;
    if (this.#searched >= this.front.limits.maxHeadBytes + BEYOND_HEAD) {
      throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
    }
    return false;
  }

  /** More of a head is to come, and no read is under way. */
  #makeRoom(): void {
    const size = this.#end - this.#at;
    if (this.#at > 0) {
      this.#memory.copyWithin(0, this.#at, this.#end);
      [this.#at, this.#end] = [0, size];
    }
    if (size < this.#memory.length) return;
    const larger = acquireBuffer(size + 1);
    larger.set(this.#memory);
    releaseBuffer(this.#memory);
    this.#memory = larger;
  }

  #begin(): void {
    const { head } = this;
    this.#searched = 0;
    this.#at = head.end;
    this.#headSize = head.end - head.start > SMALL / 2 ? MEDIUM : SMALL;
    this.#enter("exchange");
    this.#startedAt = coarseNow();
    if (head.close || (head.minorVersion === 0 && !head.keepAlive)) this.mustClose = true;
    const exchange = this.#exchange = new EdgeExchange(this);
    if (head.expectation === "unknown" || (head.framing !== "none" && head.upgrade && exchange.isWebSocket)) {
      return this.#refuse(findExpectationFault(exchange) ?? BODY_WITH_UPGRADE);
    }
    this.#answer(exchange);
    // An answer that was there at once has gone on to the next head already.
    if (this.#exchange === exchange && head.framing === "none") this.#readAhead();
  }

  #answer(exchange: EdgeExchange): void {
    try {
      const response = this.front.handler(exchange);
      if (response === null) return;
      if (response instanceof Response) void this.#send(exchange, response);
      else {
        response.then((answer) => answer === null ? undefined : this.#send(exchange, answer))
          .catch((error) => this.#fail(exchange, error));
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  async #send(exchange: EdgeExchange, response: Response): Promise<void> {
    try {
      if (response.headers.get("connection")?.toLowerCase() === "close") this.mustClose = true;
      await sendResponse(exchange, response);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: EdgeExchange, error: unknown): void {
    if (!(error instanceof BodyCut)) {
      this.front.log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
    }
    if (exchange.response.begun || this.#exchange !== exchange) return exchange.response.cut();
    const failure = new HttpError(500, "internal_error", "The server failed to answer this request.");
    void this.#send(exchange, errorResponse(failure, null));
  }

  /** Answers what is no request that anyone may answer, and ends the connection: what follows on it cannot be trusted. */
  #refuse(error: HttpError): void {
    this.mustClose = true;
    const accept = this.#exchange === null ? findAccept(this.rest) : this.#exchange.header("accept");
    const exchange = this.#exchange ??= new EdgeExchange(this);
    this.#enter("exchange");
    void this.#send(exchange, errorResponse(error, accept));
  }

  #refuseLate(): void {
    if (this.#at === this.#end) return this.close();
    this.#refuse(new HttpError(408, "head_timeout", "The request's head took too long."));
  }

  /** Notices a visitor who leaves while the exchange runs, and takes in the next head. */
  #readAhead(): void {
    if (this.#reading || this.phase !== "exchange" || this.#at < this.#end) return;
    if (this.#headMemory === null) {
      this.#headMemory = this.#memory;
      this.#memory = acquireBuffer(this.#headSize);
    }
    this.#at = this.#end = 0;
    this.#read();
  }

  /** Ends this side, and takes the rest of what the visitor sends for a moment, as closing at once could destroy the answer. */
  #linger(): void {
    this.#enter("linger");
    void this.#connection.closeWrite();
    if (this.#reading) return;
    this.#at = this.#end = 0;
    this.#read();
  }

  #discard(count: number | null): void {
    this.#discarded += count ?? 0;
    if (count === null) return this.close();
    if (this.#discarded > LINGER_BYTES) return;
    if (this.#memory.length < LARGE) {
      releaseBuffer(this.#memory);
      this.#memory = acquireBuffer(LARGE);
    }
    this.#end = 0;
    this.#read();
  }
}

const NO_MEMORY = new Uint8Array(0);
const CR = 0x0d;
const LF = 0x0a;
const BODY_WITH_UPGRADE = new HttpError(400, "bad_request", "An upgrade request can have no body.");
