import type { ListenerLimits } from "../limits.ts";

/** The direction from the visitor. */
export type Reading =
  /** TLS is being set up. */
  | "handshake"
  /** Waits for the first byte of a head, between requests. */
  | "idle"
  /** Waits for the rest of a head; also the state of a new connection. */
  | "head"
  /** A request runs, and its body has not been read to the end. */
  | "body"
  /** A request runs that was received completely. Later bytes belong to the next one. */
  | "ahead"
  /** The visitor ended this direction right after the request, and waits for the response. */
  | "ended"
  /** Bytes after the last response are dropped. */
  | "discard"
  /** HTTP/2 or an upgraded protocol reads. */
  | "handed"
  | "closed";

/** The direction to the visitor. */
export type Writing =
  /** No response is due. */
  | "none"
  /** The response to the running request is due or being written. */
  | "response"
  /** This direction has ended after its last response. */
  | "shut"
  /** HTTP/2 or an upgraded protocol writes. */
  | "handed"
  | "closed";

/** Changes that the driver reports. */
export type ConnectionEvent =
  /** The TLS handshake chose HTTP/1.1. */
  | "secured"
  /** The TLS handshake chose HTTP/2. */
  | "secured for HTTP/2"
  /** A read brought bytes. */
  | "bytes"
  /** The visitor ended its direction. */
  | "end"
  /** The same, so soon after a request that the visitor may still wait for the response. */
  | "early end"
  /** The socket failed. */
  | "broken"
  /** No byte of a further head is there. */
  | "no head"
  /** A head is incomplete. */
  | "part of a head"
  /** A complete head announces no body. */
  | "request"
  /** A complete head announces a body. */
  | "request with body"
  /** A head is malformed, too large or too late, so later bytes cannot be parsed safely. */
  | "refused head"
  /** The body was read to its end. */
  | "body end"
  /** The response was written, and the connection can carry another request. */
  | "reuse"
  /** The last response of the connection was written. */
  | "last response"
  /** The handler took the connection for another protocol. */
  | "upgrade"
  /** The deadline of the state has passed. */
  | "expired"
  /** The listener stops. */
  | "stop"
  /** The connection must end at once. */
  | "close";

/** Work for the driver after an event. */
export type ConnectionEffect =
  | "nothing"
  /** Read from the socket. */
  | "read"
  /** Parse the buffered bytes as a head. */
  | "parse"
  /** Pass the request to the handler. */
  | "handle"
  /** Respond with an error. */
  | "refuse"
  /** Return the bytes to the reader of the body. */
  | "deliver"
  /** Read on, to notice a visitor who disconnects and to receive the next head. */
  | "read ahead"
  /** End this direction, and drop the bytes that still arrive. */
  | "linger"
  /** Count and drop the bytes. */
  | "drop"
  /** Pass the finished read to the upgraded protocol. */
  | "pass on"
  /** Pass the socket to HTTP/2. */
  | "start HTTP/2"
  /** Pass the socket to the handler. */
  | "hand over"
  /** Close the socket and end the running exchange. */
  | "close"
  /** Free the buffer of a read that ended after the socket was closed. */
  | "release"
  /** Report a defect of the driver, and close: the state has no row for the event. */
  | "fail";

type ReadingRow = readonly [state: Reading, event: ConnectionEvent, next: Reading, effect: ConnectionEffect];
type WritingRow = readonly [state: Writing, event: ConnectionEvent, next: Writing];

/** The table of the direction from the visitor. It chooses the effects. */
export const READING_ROWS: readonly ReadingRow[] = [
  ["handshake", "secured", "head", "read"],
  ["handshake", "secured for HTTP/2", "handed", "start HTTP/2"],
  ["handshake", "expired", "closed", "close"],
  ["handshake", "stop", "closed", "close"],
  ["handshake", "close", "closed", "close"],

  ["idle", "bytes", "head", "parse"],
  ["idle", "end", "closed", "close"],
  ["idle", "broken", "closed", "close"],
  ["idle", "expired", "closed", "close"],
  ["idle", "stop", "closed", "close"],
  ["idle", "close", "closed", "close"],

  ["head", "bytes", "head", "parse"],
  ["head", "no head", "idle", "read"],
  ["head", "part of a head", "head", "read"],
  ["head", "request", "ahead", "handle"],
  ["head", "request with body", "body", "handle"],
  ["head", "refused head", "ahead", "refuse"],
  ["head", "end", "closed", "close"],
  ["head", "broken", "closed", "close"],
  ["head", "expired", "closed", "close"],
  ["head", "stop", "closed", "close"],
  ["head", "close", "closed", "close"],

  ["body", "bytes", "body", "deliver"],
  ["body", "body end", "ahead", "read ahead"],
  ["body", "last response", "discard", "linger"],
  ["body", "end", "closed", "close"],
  ["body", "broken", "closed", "close"],
  ["body", "expired", "closed", "close"],
  ["body", "stop", "body", "nothing"],
  ["body", "close", "closed", "close"],

  ["ahead", "bytes", "ahead", "nothing"],
  ["ahead", "reuse", "head", "parse"],
  ["ahead", "last response", "discard", "linger"],
  ["ahead", "upgrade", "handed", "hand over"],
  ["ahead", "early end", "ended", "nothing"],
  ["ahead", "end", "closed", "close"],
  ["ahead", "broken", "closed", "close"],
  ["ahead", "expired", "closed", "close"],
  ["ahead", "stop", "ahead", "nothing"],
  ["ahead", "close", "closed", "close"],

  ["ended", "last response", "discard", "linger"],
  ["ended", "upgrade", "handed", "hand over"],
  ["ended", "expired", "closed", "close"],
  ["ended", "stop", "ended", "nothing"],
  ["ended", "close", "closed", "close"],

  ["discard", "bytes", "discard", "drop"],
  ["discard", "end", "closed", "close"],
  ["discard", "broken", "closed", "close"],
  ["discard", "expired", "closed", "close"],
  ["discard", "stop", "closed", "close"],
  ["discard", "close", "closed", "close"],

  ["handed", "bytes", "handed", "pass on"],
  ["handed", "end", "handed", "pass on"],
  ["handed", "broken", "handed", "pass on"],
  ["handed", "stop", "handed", "nothing"],
  ["handed", "close", "closed", "close"],

  ["closed", "bytes", "closed", "release"],
  ["closed", "end", "closed", "release"],
  ["closed", "broken", "closed", "release"],
  ["closed", "upgrade", "closed", "nothing"],
  ["closed", "stop", "closed", "nothing"],
  ["closed", "close", "closed", "nothing"],
];

/** The table of the direction to the visitor. Events without a row leave the state as it is. */
export const WRITING_ROWS: readonly WritingRow[] = [
  ["none", "request", "response"],
  ["none", "request with body", "response"],
  ["none", "refused head", "response"],
  ["none", "secured for HTTP/2", "handed"],
  ["response", "reuse", "none"],
  ["response", "last response", "shut"],
  ["response", "upgrade", "handed"],
];

/** Seconds for the rest of a request after its response: closing at once could destroy the response. */
const LINGER_SECONDS = 2;
/** Seconds without a response after which an early end counts as a visitor who disconnected. */
const HALF_CLOSED_SECONDS = 3;

/** The deadline of each state, in seconds since it began. States without one are watched by the body, the writes or HTTP/2. */
export function getDeadline(reading: Reading, limits: ListenerLimits): number {
  switch (reading) {
    case "handshake":
      return limits.handshakeSeconds;
    case "head":
      return limits.headSeconds;
    case "idle":
      return limits.idleSeconds;
    case "ended":
      return HALF_CLOSED_SECONDS;
    case "discard":
      return LINGER_SECONDS;
    default:
      return Infinity;
  }
}

interface Transition {
  readonly next: Reading;
  readonly effect: ConnectionEffect;
}

const DEFECT: Transition = { next: "closed", effect: "fail" };
const READING_TABLE = indexRows(
  READING_ROWS.map(([state, event, next, effect]) => [state, event, { next, effect }] as const),
);
const WRITING_TABLE = indexRows(WRITING_ROWS);

type Index<State extends string, Value> = Partial<Record<State, Partial<Record<ConnectionEvent, Value>>>>;

function indexRows<State extends string, Value>(
  rows: readonly (readonly [State, ConnectionEvent, Value])[],
): Index<State, Value> {
  const index: Index<State, Value> = {};
  for (const [state, event, value] of rows) (index[state] ??= {})[event] = value;
  return index;
}

/**
 * The state of a visitor's connection: two directions and whether it carries another request. It does no I/O and reads no
 * clock: its driver, `EdgeConnection`, reports events and performs the effects.
 */
export class ConnectionState {
  /** Whether the connection may carry another request after the running one. */
  keepAlive = true;
  #reading: Reading;
  #writing: Writing = "none";

  constructor(isSecure: boolean) {
    this.#reading = isSecure ? "handshake" : "head";
  }

  get reading(): Reading {
    return this.#reading;
  }

  get writing(): Writing {
    return this.#writing;
  }

  /** Whether a request runs. */
  get isBusy(): boolean {
    return this.#writing === "response";
  }

  /** Processes an event, and returns the effect for the driver. */
  on(event: ConnectionEvent): ConnectionEffect {
    const transition = READING_TABLE[this.#reading]?.[event] ?? DEFECT;
    if (event === "stop" || event === "refused head" || event === "early end") this.keepAlive = false;
    this.#reading = transition.next;
    this.#writing = transition.next === "closed" ? "closed" : WRITING_TABLE[this.#writing]?.[event] ?? this.#writing;
    return transition.effect;
  }

  /**
   * Joins both directions after a response: the connection carries another request only if the running one was received
   * completely and neither side asked for the end.
   */
  respond(): ConnectionEffect {
    return this.on(this.keepAlive && this.#reading === "ahead" ? "reuse" : "last response");
  }
}
