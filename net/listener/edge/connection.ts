import { releaseBuffer } from "../../../common/buffers/buffer_pool.ts";
import { coarseNow } from "../../../common/event_loop.ts";
import { errorResponse, HttpError } from "../../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../../common/log.ts";
import { type Connection, readFor, type Receiver, type Sender, writeFor } from "../../connection/mod.ts";
import { RequestHead, RequestSyntaxError } from "../../http1/mod.ts";
import { findAccept, findExpectationFault, headFault } from "../_exchange.ts";
import type { ListenerLimits } from "../limits.ts";
import { sendResponse } from "../send_response.ts";
import type { ListenerTraffic } from "../traffic.ts";
import { BodyCut, type ExchangeHandler } from "../types.ts";
import { type ConnectionEffect, type ConnectionEvent, ConnectionState, getDeadline } from "./connection_state.ts";
import { EdgeExchange, type ExchangeConnection } from "./exchange.ts";
import type { Http2Connection, Http2Front } from "./http2/connection.ts";
import { Input, UpgradedConnection } from "./input.ts";

/** The listener as its connections see it. */
export interface ListenerContext {
  readonly limits: ListenerLimits;
  readonly traffic: ListenerTraffic | null;
  readonly handler: ExchangeHandler;
  readonly log: Logger;
  /** Whole seconds since the listener began: the clock of all time limits. */
  readonly tick: number;
  /** Removes a connection that has ended. */
  forget(connection: EdgeConnection): void;
}

/** Bytes that are dropped after the last response. Reading stops at that point, which leaves the response intact. */
const LINGER_BYTES = 1024 * 1024;
/**
 * Milliseconds after a request in which a visitor who ends its direction may still wait for the response. Later it is how
 * programs disconnect.
 */
const HALF_CLOSE_MS = 20;
/** Bytes written at a time: the clock of a stalled visitor restarts with each. */
const WRITE_BYTES = 256 * 1024;
const NOTHING = new Uint8Array(0);
const BODY_WITH_UPGRADE = new HttpError(400, "bad_request", "An upgrade request can have no body.");

/**
 * Drives a visitor's connection: reads the socket, reports events to {@link ConnectionState} and performs its effects. One
 * read is pending between requests and while a request without a body runs; it notices visitors who disconnect and brings
 * the next head. A body is read only as the handler consumes it.
 */
export class EdgeConnection implements ExchangeConnection {
  readonly remoteAddress: string;
  /** The key of the limit per address. */
  readonly network: string;
  readonly secure: boolean;
  readonly head = new RequestHead();
  /** Whether the connection was accepted above the limit, for requests that must get in. */
  isOverLimit = false;
  /** Tick at which the state began, or at which a byte moved in it. */
  since: number;
  /** Tick at which the pending write began, or -1. */
  writingSince = -1;
  readonly #listener: ListenerContext;
  readonly #connection: Connection;
  readonly #state: ConnectionState;
  readonly #input = new Input();
  #isReading = false;
  #exchange: EdgeExchange | null = null;
  /** The buffer of the response's last write, until it ends. */
  #lastBuffer: Uint8Array<ArrayBuffer> = NOTHING;
  /** When the running request was received, by {@link coarseNow}. */
  #receivedAt = 0;
  #droppedBytes = 0;
  #upgraded: UpgradedConnection | null = null;
  /** As {@link writingSince}, for the upgraded protocol: the head of its response may still be on its way. */
  #upgradeWritingSince = -1;
  #http2: Http2Connection | null = null;

  constructor(
    listener: ListenerContext,
    connection: Connection,
    remoteAddress: string,
    network: string,
    secure: boolean,
  ) {
    this.#listener = listener;
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.network = network;
    this.secure = secure;
    this.#state = new ConnectionState(secure);
    this.since = listener.tick;
  }

  /** Reads the first head of a connection without TLS. */
  start(): void {
    this.#read();
  }

  /** Continues after the TLS handshake, in HTTP/2 where it was chosen. */
  startSecured(http2: Http2Front | null): void {
    if (this.#state.reading === "closed") return;
    if (http2 === null) return this.#report("secured");
    this.#report("secured for HTTP/2");
    this.#input.release();
    this.#http2 = http2.carry(this.#connection, this.remoteAddress, () => this.since = this.#listener.tick);
    void this.#http2.ended.then(() => this.close());
  }

  get traffic(): ListenerTraffic | null {
    return this.#listener.traffic;
  }

  /** Whether the connection may carry another request after the running one. */
  get keepAlive(): boolean {
    return this.#state.keepAlive;
  }

  /** Makes the running response the last one. */
  endAfterResponse(): void {
    this.#state.keepAlive = false;
  }

  /** Whether the connection can end without interrupting a request or another protocol. */
  get isIdle(): boolean {
    if (this.#http2 !== null) return !this.#http2.isBusy;
    return !this.#state.isBusy && !this.isUpgraded && this.#state.reading !== "closed";
  }

  /** Whether it has carried a request and waits for the next. */
  get isKept(): boolean {
    return this.#state.reading === "idle";
  }

  /** Whether its handler took it for another protocol. */
  get isUpgraded(): boolean {
    return this.#upgraded !== null && this.#state.reading !== "closed";
  }

  /** Ends the connection at once. */
  close(): void {
    this.#report("close");
  }

  /** The listener stops: an idle connection ends now, a busy one with its response. */
  stop(): void {
    // HTTP/2 notifies its visitors itself, and ends when their exchanges are done.
    if (this.#http2 === null) this.#report("stop");
  }

  /** Ends the connection if it exceeds a time limit. Called once a second. */
  check(limits: ListenerLimits): void {
    const { tick } = this.#listener, waited = tick - this.since;
    const writingSince = Math.max(this.writingSince, this.#upgradeWritingSince);
    if (writingSince >= 0 && tick - writingSince > limits.stallSeconds) return this.close();
    if (this.#http2 !== null) {
      this.#http2.check(limits);
      if (waited > limits.idleSeconds && this.isIdle) this.#http2.retire();
      return;
    }
    const { reading } = this.#state;
    if (reading === "body" && this.#exchange?.input?.isTooSlow(limits)) return this.#report("expired");
    if (waited <= getDeadline(reading, limits) || (reading === "ended" && this.writingSince >= 0)) return;
    if (reading !== "head" || this.#input.isEmpty) return this.#report("expired");
    this.#refuse(new HttpError(408, "head_timeout", "The request's head took too long."));
  }

  // Events and effects

  #report(event: ConnectionEvent): void {
    const before = this.#state.reading;
    const effect = this.#state.on(event);
    if (this.#state.reading !== before) this.since = this.#listener.tick;
    this.#perform(effect, 0);
  }

  #perform(effect: ConnectionEffect, count: number): void {
    switch (effect) {
      case "parse":
        return this.#parse();
      case "read":
        return this.#readMore();
      case "read ahead":
        return this.#readAhead();
      case "linger":
        return this.#linger();
      case "drop":
        return this.#drop(count);
      case "pass on":
        return this.#passOn(count);
      case "close":
        return this.#end();
      case "release":
        return this.#input.release();
      case "fail":
        this.#listener.log.error("connection_state_failed", {
          reason: "an event came in a state without a row for it",
        });
        return this.#end();
    }
  }

  #end(): void {
    this.#connection.close();
    const exchange = this.#exchange;
    if (!this.#isReading && this.#http2 === null && !exchange?.input?.isLent) this.#input.release();
    this.#listener.forget(this);
    this.#exchange = null;
    exchange?.leave();
    this.#upgraded?.lose();
  }

  // Reading

  #read(): void {
    this.#isReading = true;
    readFor(this.#connection, this.#input.room, this.#receiver);
  }

  // Created once a connection, not once a read.
  readonly #receiver: Receiver = {
    onRead: (count) => {
      this.#isReading = false;
      if (count === null) return this.#reportEnd();
      this.#input.append(count);
      const before = this.#state.reading, effect = this.#state.on("bytes");
      if (this.#state.reading !== before) this.since = this.#listener.tick;
      this.#perform(effect, count);
    },
    onBroken: () => {
      this.#isReading = false;
      this.#report("broken");
    },
  };

  #reportEnd(): void {
    const isEarly = this.#state.reading === "ahead" && coarseNow() - this.#receivedAt <= HALF_CLOSE_MS;
    this.#report(isEarly ? "early end" : "end");
  }

  #readMore(): void {
    if (this.#isReading) return;
    this.#input.makeRoom();
    this.#read();
  }

  /** Notices a visitor who disconnects while a request runs, and receives the next head. */
  #readAhead(): void {
    if (this.#isReading || !this.#input.isEmpty) return;
    this.#input.startNextHead();
    this.#read();
  }

  #parse(): void {
    const input = this.#input;
    input.skipEmptyLines();
    if (input.isEmpty) {
      if (!this.#isReading) input.clear();
      return this.#report("no head");
    }
    let isComplete: boolean;
    try {
      isComplete = input.parseHead(this.head, this.#listener.limits);
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return this.#refuse(headFault(error));
    }
    if (isComplete) this.#begin();
    else this.#report("part of a head");
  }

  /** Ends this direction. The visitor's is read on, because closing at once could destroy the response. */
  #linger(): void {
    void this.#connection.closeWrite();
    if (this.#isReading) return;
    this.#input.clear();
    this.#read();
  }

  #drop(count: number): void {
    this.#droppedBytes += count;
    if (this.#droppedBytes > LINGER_BYTES) return;
    this.#input.startDropping();
    this.#read();
  }

  #passOn(count: number): void {
    this.#upgraded?.endEarlyRead(count > 0 ? this.#input.copyLast(count) : null);
    this.#input.release();
  }

  // Requests

  #begin(): void {
    const { head } = this;
    this.#receivedAt = coarseNow();
    if (head.close || (head.minorVersion === 0 && !head.keepAlive)) this.#state.keepAlive = false;
    const exchange = this.#exchange = new EdgeExchange(this);
    if (head.expectation === "unknown" || (head.framing !== "none" && head.upgrade && exchange.isWebSocket)) {
      return this.#refuse(findExpectationFault(exchange) ?? BODY_WITH_UPGRADE);
    }
    this.#report(head.framing === "none" ? "request" : "request with body");
    this.#handle(exchange);
    // A response that was available at once may have led to the next head already.
    if (this.#exchange === exchange && this.#state.reading === "ahead") this.#readAhead();
  }

  #handle(exchange: EdgeExchange): void {
    try {
      const response = this.#listener.handler(exchange);
      if (response === null) return;
      if (response instanceof Response) void this.#send(exchange, response);
      else {
        response.then((late) => late === null ? undefined : this.#send(exchange, late))
          .catch((error) => this.#fail(exchange, error));
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  async #send(exchange: EdgeExchange, response: Response): Promise<void> {
    try {
      if (response.headers.get("connection")?.toLowerCase() === "close") this.#state.keepAlive = false;
      await sendResponse(exchange, response);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: EdgeExchange, error: unknown): void {
    if (!(error instanceof BodyCut)) {
      this.#listener.log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
    }
    if (exchange.response.begun || this.#exchange !== exchange) return exchange.response.cut();
    const failure = new HttpError(500, "internal_error", "The server failed to respond to this request.");
    void this.#send(exchange, errorResponse(failure, null));
  }

  /** Rejects a request, and ends the connection: later bytes cannot be parsed safely. */
  #refuse(error: HttpError): void {
    const accept = this.#exchange === null ? findAccept(this.#input.bytes) : this.#exchange.header("accept");
    const exchange = this.#exchange ??= new EdgeExchange(this);
    this.#report("refused head");
    void this.#send(exchange, errorResponse(error, accept));
  }

  // The exchange's view of the connection

  /** Writes bytes under the stall limit. Never rejects: a failed write ends the connection. */
  write(bytes: Uint8Array): Promise<void> {
    this.writingSince = this.#listener.tick;
    if (bytes.length > WRITE_BYTES) return this.#writeParts(bytes);
    return this.#connection.write(bytes).then(this.#onWritten, this.#onUnwritten);
  }

  writeLast(bytes: Uint8Array, buffer: Uint8Array<ArrayBuffer>): void {
    this.#lastBuffer = buffer;
    if (bytes.length > WRITE_BYTES) return void this.#writeParts(bytes).then(this.#last.onWritten);
    this.writingSince = this.#listener.tick;
    writeFor(this.#connection, bytes, this.#last);
  }

  /** Writes in parts, so that a visitor who reads slowly is not taken for a stalled one. */
  async #writeParts(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && this.#state.reading !== "closed"; at += WRITE_BYTES) {
      await this.write(bytes.subarray(at, at + WRITE_BYTES));
    }
  }

  readonly #onWritten = (): void => {
    this.writingSince = -1;
    this.since = this.#listener.tick;
  };

  readonly #onUnwritten = (): void => this.close();

  // Created once a connection, not once a response.
  readonly #last: Sender = {
    onWritten: () => {
      this.#onWritten();
      this.#releaseLast();
      if (this.#exchange !== null) this.exchangeOver(this.#exchange);
    },
    onUnwritten: () => {
      this.close();
      this.#releaseLast();
    },
  };

  #releaseLast(): void {
    releaseBuffer(this.#lastBuffer);
    this.#lastBuffer = NOTHING;
  }

  async readBody(into: Uint8Array): Promise<number> {
    this.#isReading = true;
    let count: number | null = null, cause: unknown;
    try {
      count = await this.#connection.read(into);
    } catch (error) {
      cause = error;
    }
    this.#isReading = false;
    const effect = this.#state.on(count === null ? "end" : "bytes");
    if (count !== null && effect === "deliver") return count;
    // The buffer of this read is the body's.
    if (effect !== "release") this.#perform(effect, count ?? 0);
    throw new BodyCut("the visitor disconnected", { cause });
  }

  get rest(): Uint8Array<ArrayBuffer> {
    return this.#input.bytes;
  }

  takeRest(count: number): void {
    this.#input.consume(count);
  }

  bodyEnded(buffer: Uint8Array<ArrayBuffer> | null, start: number, end: number): void {
    // A visitor who ends its direction now has sent the whole request.
    this.#receivedAt = coarseNow();
    if (buffer !== null) this.#input.continueIn(buffer, start, end);
    this.#report("body end");
  }

  exchangeOver(over: EdgeExchange): void {
    const exchange = this.#exchange;
    if (exchange === null || exchange !== over) return;
    const { input } = exchange;
    // The connection can carry another request if the rest of the body is in the buffer.
    if (this.#state.keepAlive && input?.skipRead()) this.#state.on("body end");
    this.#exchange = null;
    if (input?.isLent) this.#input.leaveChunk(this.#isReading);
    exchange.settle();
    this.#input.releaseHead();
    const effect = this.#state.respond();
    this.since = this.#listener.tick;
    this.#perform(effect, 0);
  }

  cut(exchange: EdgeExchange): void {
    if (this.#exchange === exchange) this.close();
  }

  upgrade(): Connection {
    const upgraded = new UpgradedConnection(
      this.#connection,
      this.#input.bytes.slice(),
      this.#writeUpgraded,
      () => this.close(),
    );
    if (this.#state.on("upgrade") !== "hand over") {
      upgraded.lose();
      return upgraded;
    }
    this.since = this.#listener.tick;
    // Only the system can find out whether a quiet visitor still exists: the protocol is unknown here.
    this.#connection.keepAlive?.();
    this.#upgraded = upgraded;
    this.#exchange?.settle();
    this.#exchange = null;
    this.#input.releaseHead();
    if (this.#isReading) upgraded.awaitEarlyRead();
    else this.#input.release();
    return upgraded;
  }

  /** Writes for the upgraded protocol. A failure is reported to its owner. */
  readonly #writeUpgraded = (bytes: Uint8Array): Promise<void> => {
    this.#upgradeWritingSince = this.#listener.tick;
    return this.#connection.write(bytes).finally(this.#onUpgradeWritten);
  };

  readonly #onUpgradeWritten = (): void => void (this.#upgradeWritingSince = -1);
}
