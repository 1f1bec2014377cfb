import type { Exchange, ServerSocket } from "../../common/listener/mod.ts";
import { errorResponse } from "../../common/http_error.ts";
import {
  MAX_WEBSOCKET_MESSAGE,
  type MuxStream,
  ResetReason,
  StreamEnded,
  type StreamHandler,
} from "../../protocol/mod.ts";
import { keepView } from "../../common/message_memory.ts";
import { badAnswer } from "./errors.ts";
import { parseResponseHead } from "./response_head.ts";
import { type Meter, Visitor } from "./visitor.ts";

/**
 * Messages from the visitors of one tunnel that wait for credit, in bytes; a visitor who sends faster than this drains
 * is closed with 1008.
 */
const MAX_QUEUED = 4 * MAX_WEBSOCKET_MESSAGE;
/** What a queued message takes besides its bytes, so that a million empty ones are no way around the limit. */
const MESSAGE_COST = 512;
/** What a visitor may leave untaken before its local service is told to wait. */
const MAX_BUFFERED = 1024 * 1024;
const DRAIN_POLL_MS = 10;
/** A quiet visitor is pinged twice in this time, which also keeps routers and proxies from ending the connection. */
const HEARTBEAT_SECONDS = 50;

/** Close codes of RFC 6455, section 7.4.1, as far as we send them. */
const GOING_AWAY = 1001, POLICY_VIOLATION = 1008, TOO_BIG = 1009;

/**
 * Beats, which are seconds, until an accepted visitor whose side does not open is given up. Deno does not tell of one
 * whose connection breaks just then.
 */
const MAX_OPENING_BEATS = 5;

/** What waits for all WebSockets of a tunnel, in bytes. */
export interface MessageQueue {
  size: number;
}

/**
 * One visitor's WebSocket, carried message by message. The visitor's handshake is answered only once the local
 * service has answered its own; a refusal is passed on as the plain response it is.
 */
export class WebSocketVisitor implements StreamHandler {
  readonly response: Promise<Response>;
  readonly #exchange: Exchange;
  readonly #meter: Meter;
  readonly #queue: MessageQueue;
  #stream: MuxStream | null = null;
  #answer!: (response: Response | Promise<Response>) => void;
  #socket: ServerSocket | null = null;
  /** The message that is arriving from the local service. */
  #parts: Uint8Array[] = [];
  #partsSize = 0;
  /** Whether the visitor's handshake was accepted: their side opens soon, if it has not yet. */
  #accepted = false;
  #beatsAccepted = 0;
  /** What arrived before the visitor's side was open. */
  #early: (() => void)[] = [];
  /** Bytes taken from the local service that it has no credit back for. */
  #owed = 0;
  #isWaiting = false;
  #watched = false;
  #sending: Promise<void> = Promise.resolve();

  constructor(exchange: Exchange, meter: Meter, queue: MessageQueue = { size: 0 }) {
    this.#exchange = exchange;
    this.#meter = meter;
    this.#queue = queue;
    this.response = new Promise((resolve) => this.#answer = resolve);
  }

  start(stream: MuxStream): void {
    this.#stream = stream;
  }

  /** As long as the visitor's side is not open they may leave unnoticed. */
  onBeat(): void {
    if (this.#socket !== null) return;
    if (this.#accepted && ++this.#beatsAccepted > MAX_OPENING_BEATS) this.#leave();
    if (this.#watched) return;
    this.#watched = true;
    const { signal } = this.#exchange;
    // They may have left before the first beat.
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", () => this.#leave());
  }

  #leave(): void {
    if (this.#socket !== null) return;
    this.#stream?.reset(ResetReason.cancelled, "the visitor left");
    this.onReset(ResetReason.cancelled, "the visitor left");
  }

  onResponse(
    status: number,
    frame: Uint8Array,
    headStart: number,
    headEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void {
    const stream = this.#stream!;
    if (status !== 101) {
      const visitor = new Visitor(this.#exchange, this.#meter);
      stream.handler = visitor;
      visitor.start(stream);
      visitor.onResponse(status, frame, headStart, headEnd, payloadEnd, end);
      return this.#answer(visitor.response);
    }
    this.#meter.meter(payloadEnd - headStart);
    const protocol = this.#readProtocol(frame, headStart, headEnd);
    if (protocol === null) return this.#refuse(stream);
    this.#accepted = true;
    this.#answer(this.#exchange.upgrade({
      protocol: protocol === "" ? undefined : protocol,
      heartbeatSeconds: HEARTBEAT_SECONDS,
      onOpen: (socket) => this.#open(socket),
      onMessage: (data) => this.#forward(data),
      // Behind the messages that still wait for credit, which came first.
      onClose: (code, reason) => this.#sending = this.#sending.then(() => stream.closeWebSocket(code, reason)),
    }));
  }

  onMessage(piece: Uint8Array<ArrayBuffer>, text: boolean, more: boolean): void {
    this.#meter.meter(piece.length);
    // Empty ones cost their sender no credit: of a message that goes on they must not pile up.
    if (piece.length > 0) this.#parts.push(more ? keepView(piece) : piece);
    this.#partsSize += piece.length;
    if (this.#partsSize > MAX_WEBSOCKET_MESSAGE) return this.#abort(TOO_BIG, "the message is too large");
    if (more) return this.#payBack(piece.length);
    const bytes = join(this.#parts, this.#partsSize);
    this.#parts = [];
    this.#partsSize = 0;
    this.#whenOpen(() => this.#deliver(text ? DECODER.decode(bytes) : bytes, piece.length));
  }

  onClose(code: number, reason: string): void {
    // 1005 and 1006 stand for "no code" and "broken" and are never sent themselves.
    this.#whenOpen(() =>
      code === 1005 ? this.#socket!.close() : this.#socket!.close(code === 1006 ? GOING_AWAY : code, reason)
    );
  }

  onReset(reason: ResetReason, text: string): void {
    if (this.#accepted) return this.onClose(GOING_AWAY, text);
    const visitor = new Visitor(this.#exchange, this.#meter);
    visitor.onReset(reason, text);
    this.#answer(visitor.response);
  }

  onData(): void {
    this.#abort(POLICY_VIOLATION, "plain data on a WebSocket");
  }

  #open(socket: ServerSocket): void {
    this.#socket = socket;
    for (const run of this.#early) run();
    this.#early = [];
  }

  #whenOpen(run: () => void): void {
    if (this.#socket === null) this.#early.push(run);
    else run();
  }

  #deliver(data: string | Uint8Array<ArrayBuffer>, credit: number): void {
    this.#socket!.send(data);
    this.#payBack(credit);
  }

  /** Gives credit back as soon as the visitor has not too much left to take, for pieces of a message too. */
  #payBack(bytes: number): void {
    this.#owed += bytes;
    if (this.#isWaiting) return;
    if (!this.#isBacklogged()) return this.#payAll();
    this.#isWaiting = true;
    void this.#whenDrained().then(() => {
      this.#isWaiting = false;
      this.#payAll();
    });
  }

  #payAll(): void {
    const owed = this.#owed;
    this.#owed = 0;
    this.#stream!.consumed(owed);
  }

  #isBacklogged(): boolean {
    return this.#socket === null || this.#socket.bufferedAmount > MAX_BUFFERED;
  }

  async #whenDrained(): Promise<void> {
    while (this.#stream!.ended === null && this.#isBacklogged()) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    }
  }

  /** A WebSocket cannot be told to wait, so what the session cannot take yet is queued, up to a limit. */
  #forward(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
    this.#meter.meter(bytes.length);
    const queue = this.#queue, cost = bytes.length + MESSAGE_COST;
    if (bytes.length > MAX_WEBSOCKET_MESSAGE) return this.#abort(TOO_BIG, "the message is too large");
    if (queue.size + cost > MAX_QUEUED) {
      return this.#abort(POLICY_VIOLATION, "messages arrive faster than they can be passed on");
    }
    queue.size += cost;
    this.#sending = this.#sending.then(() => this.#stream!.writeMessage(bytes, typeof data === "string"))
      .catch((error) => {
        if (!(error instanceof StreamEnded)) throw error;
      }).finally(() => queue.size -= cost);
  }

  #abort(code: number, reason: string): void {
    this.#stream!.closeWebSocket(code, reason);
    this.onClose(code, reason);
  }

  #readProtocol(frame: Uint8Array, start: number, end: number): string | null {
    try {
      return parseResponseHead(frame, start, end).find(([name]) => name === "sec-websocket-protocol")?.[1] ?? "";
    } catch {
      return null;
    }
  }

  #refuse(stream: MuxStream): void {
    stream.reset(ResetReason.cancelled);
    this.#answer(errorResponse(badAnswer("Its headers are malformed."), this.#exchange.header("accept")));
  }
}

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

function join(parts: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
