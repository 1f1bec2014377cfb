/**
 * The states of a stream and of a session as tables. `stream.ts` and `mux.ts` look up every event here before they act
 * on it. An event without a row changes no state: from the peer it ends the session, from this side it throws.
 */

/** Stream states. "Up" is the relay's direction, "down" the client's. Both ends run the same table. */
export const StreamState = {
  /** HTTP: the request's body is open and no final response was sent. */
  request: 0,
  /** HTTP: the request is complete and no final response was sent. */
  waiting: 1,
  /** HTTP: both bodies are open. */
  both: 2,
  /** HTTP: the request is complete and the response's body is open. */
  response: 3,
  /** HTTP: the response is complete and the request's body is open. */
  upload: 4,
  /** Upgrade: requested and not decided. Neither direction may carry bytes. */
  asking: 5,
  /** Upgrade or raw: both directions carry bytes. */
  joined: 6,
  /** Upgrade or raw: only the relay sends. */
  up: 7,
  /** Upgrade or raw: only the client sends. */
  down: 8,
  /** Both directions have ended, or the stream was reset. */
  closed: 9,
} as const;
/** A {@link StreamState} value. */
export type StreamState = typeof StreamState[keyof typeof StreamState];

/** Stream events. Each is one frame, sent or received. */
export const StreamEvent = {
  upData: 0,
  upEnd: 1,
  upTrailers: 2,
  interim: 3,
  response: 4,
  /** A final response with END. */
  responseEnd: 5,
  /** 101. */
  granted: 6,
  /** 101 with END. */
  grantedEnd: 7,
  downData: 8,
  downEnd: 9,
  downTrailers: 10,
  reset: 11,
} as const;
/** A {@link StreamEvent} value. */
export type StreamEvent = typeof StreamEvent[keyof typeof StreamEvent];

/** A row's effect on the end that receives the frame; the end that sends it writes the frame instead. */
export type StreamEffect =
  /** The handler receives the frame. */
  | "deliver"
  /** The handler receives the frame; the stream leaves the session and settles its credit. */
  | "deliver, close";

/** A row: state, event, next state, effect. */
export type StreamRow = readonly [
  state: keyof typeof StreamState,
  event: keyof typeof StreamEvent,
  next: keyof typeof StreamState,
  effect: StreamEffect,
];

/** Every legal step for a stream. All other pairs of state and event are errors. */
export const STREAM_TABLE: readonly StreamRow[] = [
  ["request", "upData", "request", "deliver"],
  ["request", "upEnd", "waiting", "deliver"],
  ["request", "upTrailers", "waiting", "deliver"],
  ["request", "interim", "request", "deliver"],
  ["request", "response", "both", "deliver"],
  ["request", "responseEnd", "upload", "deliver"],
  ["request", "reset", "closed", "deliver, close"],
  ["waiting", "interim", "waiting", "deliver"],
  ["waiting", "response", "response", "deliver"],
  ["waiting", "responseEnd", "closed", "deliver, close"],
  ["waiting", "reset", "closed", "deliver, close"],
  ["both", "upData", "both", "deliver"],
  ["both", "upEnd", "response", "deliver"],
  ["both", "upTrailers", "response", "deliver"],
  ["both", "downData", "both", "deliver"],
  ["both", "downEnd", "upload", "deliver"],
  ["both", "downTrailers", "upload", "deliver"],
  ["both", "reset", "closed", "deliver, close"],
  ["response", "downData", "response", "deliver"],
  ["response", "downEnd", "closed", "deliver, close"],
  ["response", "downTrailers", "closed", "deliver, close"],
  ["response", "reset", "closed", "deliver, close"],
  ["upload", "upData", "upload", "deliver"],
  ["upload", "upEnd", "closed", "deliver, close"],
  ["upload", "upTrailers", "closed", "deliver, close"],
  ["upload", "reset", "closed", "deliver, close"],
  ["asking", "interim", "asking", "deliver"],
  ["asking", "response", "response", "deliver"],
  ["asking", "responseEnd", "closed", "deliver, close"],
  ["asking", "granted", "joined", "deliver"],
  ["asking", "grantedEnd", "up", "deliver"],
  ["asking", "reset", "closed", "deliver, close"],
  ["joined", "upData", "joined", "deliver"],
  ["joined", "upEnd", "down", "deliver"],
  ["joined", "downData", "joined", "deliver"],
  ["joined", "downEnd", "up", "deliver"],
  ["joined", "reset", "closed", "deliver, close"],
  ["up", "upData", "up", "deliver"],
  ["up", "upEnd", "closed", "deliver, close"],
  ["up", "reset", "closed", "deliver, close"],
  ["down", "downData", "down", "deliver"],
  ["down", "downEnd", "closed", "deliver, close"],
  ["down", "reset", "closed", "deliver, close"],
];

/** The event count: the next state is `NEXT_STATE[state * EVENT_COUNT + event]`. */
export const EVENT_COUNT = Object.keys(StreamEvent).length;
/** The {@link NEXT_STATE} value for a pair without a row. */
export const ILLEGAL = -1;
/** {@link STREAM_TABLE} for the hot path. */
export const NEXT_STATE: Int8Array = new Int8Array(Object.keys(StreamState).length * EVENT_COUNT).fill(ILLEGAL);
for (const [state, event, next] of STREAM_TABLE) {
  NEXT_STATE[StreamState[state] * EVENT_COUNT + StreamEvent[event]] = StreamState[next];
}

/** Whether the relay's direction is open, by state. */
export const UP_OPEN: readonly boolean[] = Object.values(StreamState).map((state) => has(state, "upData"));
/** Whether the client's direction is open or has yet to begin, by state. */
export const DOWN_OPEN: readonly boolean[] = Object.values(StreamState).map((state) =>
  has(state, "downData") || has(state, "response")
);

function has(state: StreamState, event: keyof typeof StreamEvent): boolean {
  return NEXT_STATE[state * EVENT_COUNT + StreamEvent[event]] !== ILLEGAL;
}

/** Returns the reason that an event has no row in a state. */
export function explainIllegal(state: StreamState, event: StreamEvent): string {
  const { asking, request, waiting } = StreamState;
  const isUndecided = state === request || state === waiting || state === asking;
  switch (event) {
    case StreamEvent.granted:
    case StreamEvent.grantedEnd:
      return isUndecided ? "101 without a request for an upgrade" : "a second response";
    case StreamEvent.interim:
    case StreamEvent.response:
    case StreamEvent.responseEnd:
      return state > StreamState.asking ? "a response on a stream of bytes" : "a second response";
    case StreamEvent.upTrailers:
    case StreamEvent.downTrailers:
      if (state > StreamState.asking) return "trailers on a stream of bytes";
  }
  return isUndecided && (state === asking || event >= StreamEvent.downData)
    ? "a body before its response"
    : "a body after its end";
}

/** Session states. */
export type SessionState = "open" | "draining" | "over";

/** Session events. */
export type SessionEvent =
  /** The owner opens a stream. */
  | "openStream"
  /** A frame arrives. */
  | "frame"
  /** The peer announces the session's end. */
  | "goAway"
  /** No message arrived for `HEARTBEAT_MS`. */
  | "quiet"
  /** No message arrived for `SILENCE_MS`. */
  | "silent"
  /** The peer broke the protocol. */
  | "violation"
  /** The owner ends the session. */
  | "close"
  /** The connection broke. */
  | "lost";

/** The effect in a {@link SESSION_TABLE} row. `end` resets all streams, then notifies the owner once. */
export type SessionEffect = "send" | "deliver" | "notify" | "ping" | "goAway, end" | "end" | "refuse" | "ignore";

/** Every step for a session: state, event, next state, effect. Each pair of state and event has a row. */
export const SESSION_TABLE: Readonly<
  Record<SessionState, Readonly<Record<SessionEvent, readonly [next: SessionState, effect: SessionEffect]>>>
> = {
  open: {
    openStream: ["open", "send"],
    frame: ["open", "deliver"],
    goAway: ["draining", "notify"],
    quiet: ["open", "ping"],
    silent: ["over", "end"],
    violation: ["over", "goAway, end"],
    close: ["over", "goAway, end"],
    lost: ["over", "end"],
  },
  draining: {
    openStream: ["draining", "refuse"],
    frame: ["draining", "deliver"],
    goAway: ["draining", "notify"],
    quiet: ["draining", "ping"],
    silent: ["over", "end"],
    violation: ["over", "goAway, end"],
    close: ["over", "goAway, end"],
    lost: ["over", "end"],
  },
  over: {
    openStream: ["over", "refuse"],
    frame: ["over", "ignore"],
    goAway: ["over", "ignore"],
    quiet: ["over", "ignore"],
    silent: ["over", "ignore"],
    violation: ["over", "ignore"],
    close: ["over", "ignore"],
    lost: ["over", "ignore"],
  },
};
