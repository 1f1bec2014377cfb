/**
 * The HTTP/2 states as tables. A session is three small machines: the input decides which frame may come next, the
 * lifetime decides whether requests still begin, and each stream follows RFC 9113, section 5.1. Every state has exactly
 * one row for every event, so no input leaves the tables. `states_test.ts` walks each row.
 */

/** One row: the state, the events, the next state and the effect. */
type Row<State, Event, Effect> = readonly [state: State, events: readonly Event[], next: State, effect: Effect];

/** The result of an event. */
export interface Transition<State, Effect> {
  readonly next: State;
  readonly effect: Effect;
}

/** A table for lookups. Each transition is one object, so a lookup allocates nothing. */
export type Table<State extends string, Event extends string, Effect> = Readonly<
  Record<State, Readonly<Record<Event, Transition<State, Effect>>>>
>;

/** Input states: they decide which frame may come next. */
export type InputState =
  /** The client preface is incomplete. */
  | "preface"
  /** The first SETTINGS frame is due. */
  | "settings"
  /** Any frame may come. */
  | "frames"
  /** A field block is incomplete: only CONTINUATION for its stream may come. */
  | "block"
  /** Received bytes are counted and dropped. */
  | "discard";
/** Input events. `finish`: this side sends no more frames. */
export type InputEvent =
  | "prefaceEnd"
  | "settings"
  | "headers"
  | "headersPart"
  | "continuation"
  | "continuationEnd"
  | "otherFrame"
  | "finish";
/** `take`: process the frame. `reject`: end the session with PROTOCOL_ERROR. */
export type InputEffect = "take" | "reject" | "drop";

const FRAMES = ["settings", "headers", "headersPart", "continuation", "continuationEnd", "otherFrame"] as const;

/** The input rows. */
export const INPUT_ROWS: readonly Row<InputState, InputEvent, InputEffect>[] = [
  ["preface", ["prefaceEnd"], "settings", "take"],
  ["preface", FRAMES, "discard", "reject"],
  ["preface", ["finish"], "discard", "drop"],
  ["settings", ["settings"], "frames", "take"],
  ["settings", ["prefaceEnd", "headers", "headersPart"], "discard", "reject"],
  ["settings", ["continuation", "continuationEnd", "otherFrame"], "discard", "reject"],
  ["settings", ["finish"], "discard", "drop"],
  ["frames", ["settings", "headers", "otherFrame"], "frames", "take"],
  ["frames", ["headersPart"], "block", "take"],
  ["frames", ["prefaceEnd", "continuation", "continuationEnd"], "discard", "reject"],
  ["frames", ["finish"], "discard", "drop"],
  ["block", ["continuation"], "block", "take"],
  ["block", ["continuationEnd"], "frames", "take"],
  ["block", ["prefaceEnd", "settings", "headers", "headersPart", "otherFrame"], "discard", "reject"],
  ["block", ["finish"], "discard", "drop"],
  ["discard", ["prefaceEnd", ...FRAMES, "finish"], "discard", "drop"],
];

/** Lifetime states. */
export type LifeState =
  /** Requests begin. */
  | "open"
  /** GOAWAY was sent: running streams finish, and new ones are refused. */
  | "draining"
  /** All frames were sent: this side closes its direction and waits for the client. */
  | "finishing"
  /** The connection has ended. */
  | "closed";
/** Lifetime events. `idle`: the last stream has ended. `failure`: a connection error. */
export type LifeEvent = "request" | "retire" | "idle" | "failure" | "close";
/**
 * `begin`/`refuse`: open the stream or refuse it. `goAway`: announce the end. `finish`: close this direction once all
 * frames are written. `abort`: end all streams, send GOAWAY with the error code, then finish. `release`: free all state.
 */
export type LifeEffect = "begin" | "refuse" | "goAway" | "finish" | "abort" | "release" | "none";

/** The lifetime rows. */
export const LIFE_ROWS: readonly Row<LifeState, LifeEvent, LifeEffect>[] = [
  ["open", ["request"], "open", "begin"],
  ["open", ["retire"], "draining", "goAway"],
  ["open", ["idle"], "open", "none"],
  ["open", ["failure"], "finishing", "abort"],
  ["open", ["close"], "closed", "release"],
  ["draining", ["request"], "draining", "refuse"],
  ["draining", ["retire"], "draining", "none"],
  ["draining", ["idle"], "finishing", "finish"],
  ["draining", ["failure"], "finishing", "abort"],
  ["draining", ["close"], "closed", "release"],
  ["finishing", ["request"], "finishing", "refuse"],
  ["finishing", ["retire", "idle", "failure"], "finishing", "none"],
  ["finishing", ["close"], "closed", "release"],
  ["closed", ["request"], "closed", "refuse"],
  ["closed", ["retire", "idle", "failure", "close"], "closed", "none"],
];

/**
 * Stream states (RFC 9113, section 5.1). The reserved states do not occur, because this side never pushes. "closed" has two
 * forms, because the client may still send frames for a stream that this side reset.
 */
export type StreamState = "idle" | "open" | "halfClosedLocal" | "halfClosedRemote" | "closed" | "reset";
/** Stream events: received frames, where `End` is the END_STREAM flag, and the last frames that this side sends. */
export type StreamEvent =
  | "headers"
  | "headersEnd"
  | "data"
  | "dataEnd"
  | "rstStream"
  | "windowUpdate"
  | "sentEnd"
  | "sentReset";
/**
 * `request`, `body`, `trailers`, `cancel` and `credit` reach the stream; `ignore` has no effect. `sent`: the response is
 * complete. `abort`: the stream ends before its time. The other effects are errors: `protocolError` and `streamClosed`
 * end the session, `malformed` and `afterEnd` end the stream.
 */
export type StreamEffect =
  | "request"
  | "body"
  | "trailers"
  | "cancel"
  | "credit"
  | "ignore"
  | "sent"
  | "abort"
  | "protocolError"
  | "streamClosed"
  | "malformed"
  | "afterEnd";

/** The stream rows. */
export const STREAM_ROWS: readonly Row<StreamState, StreamEvent, StreamEffect>[] = [
  ["idle", ["headers"], "open", "request"],
  ["idle", ["headersEnd"], "halfClosedRemote", "request"],
  ["idle", ["data", "dataEnd", "rstStream", "windowUpdate"], "idle", "protocolError"],
  ["idle", ["sentEnd"], "idle", "ignore"],
  ["idle", ["sentReset"], "reset", "abort"],
  ["open", ["headers"], "open", "malformed"],
  ["open", ["headersEnd"], "halfClosedRemote", "trailers"],
  ["open", ["data"], "open", "body"],
  ["open", ["dataEnd"], "halfClosedRemote", "body"],
  ["open", ["rstStream"], "closed", "cancel"],
  ["open", ["windowUpdate"], "open", "credit"],
  ["open", ["sentEnd"], "halfClosedLocal", "sent"],
  ["open", ["sentReset"], "reset", "abort"],
  ["halfClosedLocal", ["headers"], "halfClosedLocal", "malformed"],
  ["halfClosedLocal", ["headersEnd"], "closed", "trailers"],
  ["halfClosedLocal", ["data"], "halfClosedLocal", "body"],
  ["halfClosedLocal", ["dataEnd"], "closed", "body"],
  ["halfClosedLocal", ["rstStream"], "closed", "cancel"],
  ["halfClosedLocal", ["windowUpdate"], "halfClosedLocal", "credit"],
  ["halfClosedLocal", ["sentEnd"], "halfClosedLocal", "ignore"],
  ["halfClosedLocal", ["sentReset"], "reset", "abort"],
  ["halfClosedRemote", ["headers", "headersEnd", "data", "dataEnd"], "halfClosedRemote", "afterEnd"],
  ["halfClosedRemote", ["rstStream"], "closed", "cancel"],
  ["halfClosedRemote", ["windowUpdate"], "halfClosedRemote", "credit"],
  ["halfClosedRemote", ["sentEnd"], "closed", "sent"],
  ["halfClosedRemote", ["sentReset"], "reset", "abort"],
  ["closed", ["headers", "headersEnd", "data", "dataEnd"], "closed", "streamClosed"],
  ["closed", ["rstStream", "windowUpdate", "sentEnd", "sentReset"], "closed", "ignore"],
  ["reset", ["headers", "headersEnd", "data", "dataEnd"], "reset", "ignore"],
  ["reset", ["rstStream", "windowUpdate", "sentEnd", "sentReset"], "reset", "ignore"],
];

/** The input table. */
export const INPUT: Table<InputState, InputEvent, InputEffect> = compile(INPUT_ROWS);
/** The lifetime table. */
export const LIFE: Table<LifeState, LifeEvent, LifeEffect> = compile(LIFE_ROWS);
/** The stream table. */
export const STREAM: Table<StreamState, StreamEvent, StreamEffect> = compile(STREAM_ROWS);

/** Builds a table. @throws TypeError when two rows describe the same event */
function compile<State extends string, Event extends string, Effect>(
  rows: readonly Row<State, Event, Effect>[],
): Table<State, Event, Effect> {
  const table: Record<string, Record<string, Transition<State, Effect>>> = {};
  for (const [state, events, next, effect] of rows) {
    const transitions = table[state] ??= {};
    for (const event of events) {
      if (event in transitions) throw new TypeError(`two rows for "${event}" in the state "${state}"`);
      transitions[event] = { next, effect };
    }
  }
  return table as Table<State, Event, Effect>;
}
