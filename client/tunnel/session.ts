import { MAX_FIELDS, RequestHead, RequestSyntaxError } from "../../net/http1/mod.ts";
import { describeError } from "../../common/log.ts";
import { isLoopbackHost } from "../../common/loopback.ts";
import { coarseNow } from "../../common/event_loop.ts";
import { acceptFor, createWebSocketKey, FrameSocket } from "../../net/websocket/mod.ts";
import {
  GoAwayReason,
  Mux,
  NOTICES_HEADER,
  PORT_HEADER,
  type RequestStream,
  ResetReason,
  SESSION_PATH,
  type StreamHandler,
  type StreamOpening,
  SUBPROTOCOL,
  SWITCHING_PROTOCOLS,
  TUNNEL_HEADER,
} from "../../protocol/mod.ts";
import type { Connect } from "../../net/connection/mod.ts";
import {
  ApiRefused,
  call,
  explainCallFailure,
  LoginNeeded,
  notPortway,
  parseRefusal,
  readField,
  type TokenSource,
  type UpgradedCall,
} from "../api/mod.ts";
import type { Target } from "./target.ts";

/** Simultaneous requests in one session, and upgrades beside them; the relay has its own limits. */
const MAX_STREAMS = 4096;
const MAX_UPGRADES = 8192;
const BEAT_MS = 1000;

/** Options for one session. */
export interface SessionOptions {
  connect: Connect;
  server: URL;
  tunnel: CarriedTunnel;
  target: Target;
  /** The exposed port of a persistent tunnel; its default port if absent. */
  port?: number;
  /** Cancels the opening. */
  signal: AbortSignal;
  /** Time for the opening; 10 seconds by default. */
  timeoutMs?: number;
  events: SessionEvents;
  /** The relay announces the session's end. */
  onGoAway(reason: GoAwayReason, text: string): void;
  /** The session has ended. */
  onEnd(reason: GoAwayReason, text: string): void;
}

/** Listeners for session events. */
export interface SessionEvents {
  /** A request has ended, or an upgrade was granted, which is reported again at its end. May be set later. */
  onRequest?: ((request: CarriedRequest) => void) | undefined;
  /** The relay has a message for the user. */
  onNotice?(text: string): void;
  /** A defect of this program ended one request. */
  onDefect?(error: unknown): void;
}

/** A request as log and summary show it. */
export interface CarriedRequest {
  method: string;
  /** Path and query. */
  path: string;
  status: number;
  durationMs: number;
  /** Heads and bodies in both directions. */
  bytes: number;
  /** Beginning or end for a granted upgrade; null for other requests. */
  upgrade: "open" | "closed" | null;
  /** The reason for a missing or incomplete response; null otherwise. */
  reason: string | null;
}

/** The client's end in a running session. */
export interface ClientSession {
  /** Open requests, without granted upgrades. */
  readonly active: number;
  /**
   * Announces that the client stops. Resolves when all open requests have ended, or when `signal` aborts. Upgrades may
   * last for hours, so they do not count.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Announces the end to the relay and ends the session. */
  close(): void;
}

/**
 * Connects to the relay and handles requests until the session ends.
 * @throws ApiUnreachable, ApiRefused, and for a user's tunnel LoginNeeded
 */
export async function openSession(options: SessionOptions): Promise<ClientSession> {
  const { server, tunnel: { secret } } = options;
  if (typeof secret === "string") return await connectWith(options, secret);
  const token = await secret.current();
  try {
    return await connectWith(options, token);
  } catch (error) {
    if (!(error instanceof ApiRefused) || error.status !== 401) throw error;
    const renewed = await secret.renew(token);
    if (renewed === null) throw new LoginNeeded(secret.explainRefused(server), { cause: error });
    return await connectWith(options, renewed);
  }
}

async function connectWith(options: SessionOptions, secret: string): Promise<ClientSession> {
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
      authorization: `Bearer ${secret}`,
      [TUNNEL_HEADER]: tunnel.id,
      ...(options.port !== undefined && { [PORT_HEADER]: String(options.port) }),
      ...(options.events.onNotice !== undefined && { [NOTICES_HEADER]: "1" }),
    },
    signal: options.signal,
    timeoutMs: options.timeoutMs,
  }).catch((error) => {
    throw explainCallFailure(server, error);
  });
  if (upgraded === null) throw parseRefusal(server, status, text);
  if (
    readField(upgraded.fields, "sec-websocket-accept") !== acceptFor(key) ||
    readField(upgraded.fields, "sec-websocket-protocol") !== SUBPROTOCOL
  ) {
    upgraded.connection.close();
    throw notPortway(server);
  }
  return new WebSocketSession(upgraded, options);
}

class WebSocketSession implements ClientSession {
  readonly #options: SessionOptions;
  readonly #socket: FrameSocket;
  readonly #mux: Mux;
  /** Reused for each request. */
  readonly #head = new RequestHead();
  readonly #beat: ReturnType<typeof setInterval>;
  /** Called when no request is open. */
  #onIdle: (() => void) | null = null;

  constructor({ connection, rest }: UpgradedCall, options: SessionOptions) {
    this.#options = options;
    const { protocol, hostname } = options.server;
    // Keeps the system's send buffer short, because small responses wait behind its bytes.
    connection.limitUnsent?.();
    this.#socket = new FrameSocket({
      connection,
      rest,
      // Inside TLS and on this machine no intermediary can misread the payload, so a constant mask is safe.
      masking: protocol === "http:" && !isLoopbackHost(hostname) ? "random" : "zero",
      peer: "the server",
      onPayload: (bytes, start, end) => this.#mux.receive(bytes, start, end),
      onEnd: (reason) => this.#mux.end(GoAwayReason.lost, reason),
      onDefect: (error) => this.#mux.end(GoAwayReason.lost, describeError(error)),
    });
    this.#mux = new Mux({
      transport: this.#socket,
      now: coarseNow,
      maxStreams: MAX_STREAMS,
      maxUpgrades: MAX_UPGRADES,
      onOpen: (stream, frame, start, end, opening) => this.#onOpen(stream, frame, start, end, opening),
      onDefect: (error) => options.events.onDefect?.(error),
      onGoAway: options.onGoAway,
      onNotice: options.events.onNotice && ((_code, text) => options.events.onNotice?.(text)),
      onEnd: (reason, text) => {
        clearInterval(this.#beat);
        this.#socket.close();
        this.#onIdle?.();
        options.onEnd(reason, text);
      },
    });
    this.#beat = setInterval(() => this.#mux.beat(), BEAT_MS);
    this.#socket.start();
    // Measure now, while the connection is quiet.
    this.#mux.measureRoundTrip();
  }

  get active(): number {
    return this.#mux.streams().filter(({ status }) => status !== SWITCHING_PROTOCOLS).length;
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.#mux.sendGoAway(GoAwayReason.draining, "the client is being stopped");
    if (this.active === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#onIdle = null;
  }

  close(): void {
    this.#mux.end(GoAwayReason.closed, "the client was stopped");
  }

  #onOpen(stream: RequestStream, frame: Uint8Array, start: number, end: number, opening: StreamOpening): StreamHandler {
    const { target } = this.#options;
    if (opening.kind === "raw") {
      if (target.accept !== undefined) return target.accept(stream, frame.subarray(start, end));
      stream.reset(ResetReason.forbidden, "this client accepts no raw streams");
      return IGNORE;
    }
    const { heardAt } = this.#mux;
    const head = this.#head;
    try {
      readRequestHead(head, frame, start, end);
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      stream.reset(ResetReason.internal, "the request's head is malformed");
      return IGNORE;
    }
    const { method, path } = head;
    const upgrade = opening.kind === "upgrade";
    if (upgrade) stream.onUpgrade = () => this.#report(stream, method, path, heardAt, "open");
    stream.onFinish = () => {
      this.#report(stream, method, path, heardAt, stream.status === SWITCHING_PROTOCOLS ? "closed" : null);
      if (this.#onIdle !== null && this.active === 0) this.#onIdle();
    };
    return target.handle({ stream, head, bodyless: opening.end, upgrade });
  }

  #report(
    stream: RequestStream,
    method: string,
    path: string,
    heardAt: number,
    upgrade: CarriedRequest["upgrade"],
  ): void {
    const { onRequest } = this.#options.events;
    if (onRequest === undefined) return;
    // A visitor who disconnects early got no complete response, although its status was sent.
    const isCut = stream.status === 0 || (upgrade === null && isGone(stream.ended));
    onRequest({
      method,
      path,
      status: isCut ? statusOfReset(stream.ended) : stream.status,
      durationMs: this.#mux.now() - heardAt,
      bytes: stream.carried,
      upgrade,
      reason: upgrade === null ? explainReset(stream.ended, stream.resetText) : null,
    });
  }
}

/** Ignores the remaining events after a reset. */
const IGNORE: StreamHandler = { onData() {}, onReset() {} };

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

const isGone = (reason: ResetReason | null) => reason === ResetReason.cancelled || reason === ResetReason.sessionLost;

/** Returns the reason for a missing or incomplete response in the relay's words. */
function explainReset(reason: ResetReason | null, text: string): string | null {
  if (reason === null || reason === ResetReason.none) return null;
  if (reason === ResetReason.cancelled) return "the visitor disconnected";
  const sentence = RESET_REASONS[reason];
  return text === "" ? sentence : `${sentence} ${text}`;
}

const RESET_REASONS: Readonly<Record<Exclude<ResetReason, 0 | 1>, string>> = {
  [ResetReason.refused]: "The local service cannot be reached.",
  [ResetReason.broken]: "The local service closed the connection before it responded.",
  [ResetReason.notHttp]: "The local service's response cannot be read as HTTP/1.1.",
  [ResetReason.idle]: "The local service took too long to respond.",
  [ResetReason.sessionLost]: "The connection to the server was lost.",
  [ResetReason.limit]: "This tunnel has too many open requests.",
  [ResetReason.forbidden]: "The tunnel does not allow this port.",
  [ResetReason.internal]: "The client failed.",
};

/** A status outside HTTP's range that logs use for a visitor who disconnected early. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Reads `frame[start, end)` into `head`. It must be exactly one head as a relay writes it: HTTP/1.1, a path, `host` as
 * the first field. Any ambiguity is refused, whoever sent it.
 * @throws RequestSyntaxError for all else, and for more than {@link MAX_FIELDS} fields
 */
export function readRequestHead(head: RequestHead, frame: Uint8Array, start: number, end: number): void {
  const isWhole = head.parse(frame, start, end, MAX_FIELDS);
  if (!isWhole) throw new RequestSyntaxError("The head is cut short.");
  if (head.end !== end) throw new RequestSyntaxError("There are bytes after the blank line.");
  if (head.minorVersion !== 1) throw new RequestSyntaxError("HTTP/1.1 is expected.", 505);
  if (head.targetStart !== head.methodEnd + 1) throw new RequestSyntaxError("The request target must be a path.");
  if (!head.isNamed(0, "host")) throw new RequestSyntaxError("The first field must be the host.");
}

/** A tunnel and the proof that this client may carry it. */
export interface CarriedTunnel {
  readonly id: string;
  /** The secret for an ephemeral tunnel; the token source for a persistent one, because a token expires earlier. */
  readonly secret: string | TokenSource;
  /** Unix milliseconds by this machine's clock; null for a persistent tunnel. */
  readonly expiresAt: number | null;
}
