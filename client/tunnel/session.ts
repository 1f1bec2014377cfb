import { isLoopbackHost } from "../../common/loopback.ts";
import { isLent, LARGE_MESSAGE } from "../../common/message_memory.ts";
import {
  GoAwayReason,
  MAX_MESSAGE,
  Mux,
  type MuxStream,
  type RequestFlags,
  ResetReason,
  SESSION_PATH,
  type StreamHandler,
  SUBPROTOCOL,
  type Transport,
  TUNNEL_HEADER,
} from "../../protocol/mod.ts";
import type { Connect, Connection } from "../../common/connection/mod.ts";
import { call, type UpgradedCall } from "./http_call.ts";
import { MessageParts } from "./message_parts.ts";
import { explainCallFailure, type OwnedTunnel, parseRefusal } from "./relay_api.ts";
import { type RequestHead, scanRequestHead } from "./request_head.ts";
import type { Target } from "./target.ts";
import { acceptFor, createFrame, createWebSocketKey, frameInPlace, Opcode } from "./websocket.ts";

/** Requests that one session answers at a time; the relay has a limit of its own. */
const MAX_STREAMS = 4096;
const BEAT_MS = 1000;
/** Grows while messages are larger: the first of bulk are, those of an idle tunnel never. */
const INBOX_SIZE = 128 * 1024;

export interface SessionOptions {
  connect: Connect;
  server: URL;
  tunnel: OwnedTunnel;
  target: Target;
  /** Gives the opening up. */
  signal: AbortSignal;
  /** For the opening; default 10 seconds. */
  timeoutMs?: number;
  /** A request has been carried to its end. */
  onRequest(request: CarriedRequest): void;
  /** The relay says that this session will end. */
  onGoAway(reason: GoAwayReason, text: string): void;
  /** It has ended. */
  onEnd(reason: GoAwayReason, text: string): void;
}

/** What the log and the summary know of a request. */
export interface CarriedRequest {
  method: string;
  /** Path and query. */
  target: string;
  status: number;
  durationMs: number;
  /** Heads and bodies, both directions. */
  bytes: number;
}

/** The client's end of a running connection to the relay. */
export interface ClientSession {
  /** Requests being answered now. */
  readonly active: number;
  /** Says goodbye and ends it. */
  close(): void;
}

/**
 * Connects to the relay and answers what comes through the tunnel until the session ends.
 * @throws RelayUnreachable, RelayRefused
 */
export async function openSession(options: SessionOptions): Promise<ClientSession> {
  const { server, tunnel } = options;
  const key = createWebSocketKey();
  const { status, text, upgraded } = await call(options.connect, {
    method: "GET",
    url: new URL(SESSION_PATH, server),
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": SUBPROTOCOL,
      authorization: `Bearer ${tunnel.secret}`,
      [TUNNEL_HEADER]: tunnel.id,
    },
    signal: options.signal,
    timeoutMs: options.timeoutMs,
  }).catch((error) => {
    throw explainCallFailure(server, error);
  });
  if (upgraded === null) throw parseRefusal(server, status, text);
  if (
    readHeader(upgraded, "sec-websocket-accept") !== acceptFor(key) ||
    readHeader(upgraded, "sec-websocket-protocol") !== SUBPROTOCOL
  ) {
    upgraded.connection.close();
    throw parseRefusal(server, 0, "");
  }
  return new WebSocketSession(upgraded, options);
}

class WebSocketSession implements ClientSession, Transport {
  readonly #options: SessionOptions;
  readonly #connection: Connection;
  readonly #mux: Mux;
  readonly #masked: boolean;
  readonly #beat: ReturnType<typeof setInterval>;
  #writing = false;
  /** A pong that is being written while nothing else is. */
  #ponging: Promise<void> | null = null;
  /** Waits for its turn to be written. */
  #pong: Uint8Array | null = null;
  /** The message that comes in fragments just now. */
  #parts: MessageParts | null = null;

  constructor({ connection, rest }: UpgradedCall, options: SessionOptions) {
    this.#options = options;
    this.#connection = connection;
    // Inside TLS, and on this machine, nobody in between could be confused by what we send.
    this.#masked = options.server.protocol === "http:" && !isLoopbackHost(options.server.hostname);
    this.#mux = new Mux({
      transport: this,
      maxStreams: MAX_STREAMS,
      onRequest: (stream, frame, start, end, flags) => this.#onRequest(stream, frame, start, end, flags),
      onGoAway: options.onGoAway,
      onEnd: (reason, text) => this.#onEnd(reason, text),
    });
    this.#beat = setInterval(() => this.#mux.beat(), BEAT_MS);
    this.#receive(rest);
  }

  get active(): number {
    return this.#mux.size;
  }

  close(): void {
    this.#mux.end(GoAwayReason.closed, "the client was stopped");
  }

  async send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): Promise<void> {
    const from = frameInPlace(buffer, start, end, Opcode.binary, true, this.#masked);
    if (this.#ponging !== null) await this.#ponging;
    await this.#write(buffer.subarray(from, end));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#writing = true;
    try {
      await this.#connection.write(bytes);
      for (let pong = this.#pong; pong !== null; pong = this.#pong) {
        this.#pong = null;
        await this.#connection.write(pong);
      }
    } catch {
      this.#mux.end(GoAwayReason.lost, "the connection to the server broke");
    } finally {
      this.#writing = false;
    }
  }

  #onRequest(stream: MuxStream, frame: Uint8Array, start: number, end: number, flags: RequestFlags): StreamHandler {
    // Heads are looked at again when the answer has come.
    if (isLent(frame)) return this.#onRequest(stream, frame.slice(start, end), 0, end - start, flags);
    const { heardAt } = this.#mux;
    let head: RequestHead;
    try {
      head = scanRequestHead(frame, start, end);
    } catch {
      stream.reset(ResetReason.internal, "the request's head is malformed");
      return stream.handler;
    }
    stream.onFinish = () =>
      this.#options.onRequest({
        method: head.method,
        target: head.target,
        status: stream.status === 0 ? statusOfReset(stream.ended) : stream.status,
        durationMs: this.#mux.now() - heardAt,
        bytes: stream.carried,
      });
    return this.#options.target.handle({
      stream,
      head,
      frame,
      start,
      end,
      bodyless: flags.end,
      webSocket: flags.webSocket,
    });
  }

  #onEnd(reason: GoAwayReason, text: string): void {
    clearInterval(this.#beat);
    // What is being written, a goodbye perhaps, still gets a moment to leave.
    setTimeout(() => this.#connection.close(), reason === GoAwayReason.lost ? 0 : GOODBYE_MS);
    this.#options.onEnd(reason, text);
  }

  async #receive(first: Uint8Array): Promise<void> {
    const inbox = new Inbox(first);
    try {
      while (!this.#mux.over) {
        for (let frame = inbox.next(); frame !== null && !this.#mux.over; frame = inbox.next()) this.#take(frame);
        const count = await this.#connection.read(inbox.space());
        if (count === null) break;
        inbox.filled(count);
      }
    } catch (error) {
      this.#mux.end(GoAwayReason.lost, error instanceof Error ? error.message : "the connection to the server broke");
    }
    this.#mux.end(GoAwayReason.lost, "the server closed the connection");
  }

  #answerPing(payload: Uint8Array): void {
    const pong = createFrame(Opcode.pong, payload, this.#masked);
    if (this.#writing) this.#pong = pong;
    else this.#ponging = this.#write(pong).finally(() => this.#ponging = null);
  }

  #take({ first, payload }: InboxFrame): void {
    if (first === WHOLE_MESSAGE && this.#parts === null) return this.#mux.receive(payload);
    const opcode = first & 0x0f, fin = (first & FIN) !== 0;
    if (opcode >= Opcode.close) return this.#takeControl(opcode, fin, payload);
    this.#parts ??= new MessageParts();
    const message = this.#parts.push(opcode, fin, payload);
    if (message === null) return;
    this.#parts = null;
    this.#mux.receive(message);
  }

  /** A relay speaks by PING frames of ours; WebSocket pings come from proxies in between, amid messages too. */
  #takeControl(opcode: number, fin: boolean, payload: Uint8Array): void {
    if (!fin || payload.length > 125 || opcode > Opcode.pong) throw new RangeError("the server's framing is wrong");
    if (opcode === Opcode.ping) this.#answerPing(payload);
    else if (opcode === Opcode.close) this.#mux.end(GoAwayReason.lost, "the server closed the connection");
  }
}

const GOODBYE_MS = 200;

function readHeader({ fields }: UpgradedCall, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*\r$`, "im").exec(fields)?.[1];
}

const FIN = 0x80;
/** First byte of a frame that is a binary message on its own: what a relay sends. */
const WHOLE_MESSAGE = FIN | Opcode.binary;

interface InboxFrame {
  /** Flags and opcode. */
  first: number;
  payload: Uint8Array;
}

/** Gathers what arrives until a WebSocket frame is whole. */
class Inbox {
  #memory = new Uint8Array(INBOX_SIZE);
  #start = 0;
  #end: number;

  constructor(first: Uint8Array) {
    this.#memory.set(first);
    this.#end = first.length;
  }

  /** Where the next bytes go. */
  space(): Uint8Array {
    if (this.#start > 0) {
      this.#memory.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    if (this.#end === this.#memory.length) {
      if (this.#end > MAX_MESSAGE) throw new RangeError("the server sent a message that is too large");
      const larger = new Uint8Array(this.#end * 2);
      larger.set(this.#memory);
      this.#memory = larger;
    }
    return this.#memory.subarray(this.#end);
  }

  filled(count: number): void {
    this.#end += count;
  }

  /** The next whole frame, or null. A large payload is lent: {@link space} writes over it. */
  next(): InboxFrame | null {
    const memory = this.#memory, at = this.#start, have = this.#end - at;
    if (have < 2) return null;
    let size = memory[at + 1] & 0x7f, head = 2;
    if ((memory[at + 1] & 0x80) !== 0 || (memory[at] & 0x70) !== 0) {
      throw new RangeError("the server's framing is wrong");
    }
    if (size === 126) {
      if (have < (head = 4)) return null;
      size = memory[at + 2] << 8 | memory[at + 3];
    } else if (size === 127) {
      if (have < (head = 10)) return null;
      size = Number(new DataView(memory.buffer).getBigUint64(at + 2));
      if (size > MAX_MESSAGE) throw new RangeError("the server sent a message that is too large");
    }
    if (have < head + size) return null;
    this.#start = at + head + size;
    const from = at + head, to = from + size;
    return { first: memory[at], payload: size < LARGE_MESSAGE ? memory.slice(from, to) : memory.subarray(from, to) };
  }
}

function statusOfReset(reason: ResetReason | null): number {
  switch (reason) {
    case ResetReason.idle:
      return 504;
    case ResetReason.limit:
      return 503;
    case ResetReason.cancelled:
    case ResetReason.sessionLost:
      return CLIENT_CLOSED_REQUEST;
    default:
      return 502;
  }
}

/** No status of HTTP: what logs show for a visitor who left before the answer. */
const CLIENT_CLOSED_REQUEST = 499;
