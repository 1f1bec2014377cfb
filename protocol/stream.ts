import { MAX_HEAD, MAX_PIECE, MAX_SMALL_BLOCK } from "./limits.ts";
import { END, FrameType, ProtocolError } from "./frames.ts";
import { ReceiveWindow, SendCredit, type SessionFlow } from "./flow.ts";
import type { Outbox } from "./outbox.ts";
import { ResetReason } from "./reasons.ts";
import {
  DOWN_OPEN,
  EVENT_COUNT,
  explainIllegal,
  ILLEGAL,
  NEXT_STATE,
  StreamEvent,
  StreamState,
  UP_OPEN,
} from "./state.ts";
import {
  type RequestStream,
  StreamEnded,
  type StreamHandler,
  type StreamOpening,
  SWITCHING_PROTOCOLS,
} from "./types.ts";

/** The session as its streams see it. */
export interface StreamSession {
  readonly outbox: Outbox;
  readonly flow: SessionFlow;
  /** Milliseconds. */
  readonly now: () => number;
  /** The round trip in milliseconds; Infinity until it was measured. */
  readonly roundTripMs: number;
  /** Measures the round trip, unless that happened a moment ago. */
  measureRoundTrip(): void;
  /** Removes a stream that has ended. */
  forget(stream: MuxStream): void;
}

/**
 * Drives one stream: `state.ts` decides whether an event is legal, `flow.ts` how many bytes may pass. Both directions end
 * separately; when both have ended, or after a reset, the stream leaves its session.
 */
export class MuxStream implements RequestStream {
  readonly id: number;
  readonly kind: StreamOpening["kind"];
  handler: StreamHandler;
  state: StreamState;
  ended: ResetReason | null = null;
  status = 0;
  resetText = "";
  carried = 0;
  /** Interim responses so far. */
  interims = 0;
  /** Ticks on the session's idle clock since the last frame. */
  idleTicks = 0;
  onFinish: (() => void) | null = null;
  onUpgrade: (() => void) | null = null;
  /** The next stream in the same bucket. */
  next: MuxStream | null = null;
  /** The response may be overdrawn: relay only. */
  readonly mayBeOverdrawn: boolean;
  readonly #session: StreamSession;
  readonly #isOpener: boolean;
  readonly #credit: SendCredit;
  /** Created by the first body bytes: most streams receive none. */
  #window: ReceiveWindow | null = null;
  #wake: (() => void) | null = null;

  /**
   * @param isOpener whether this end opened the stream: the relay
   * @param overdraws whether this end, and for the relay also the peer, may send beyond its credit
   */
  constructor(
    session: StreamSession,
    id: number,
    opening: StreamOpening,
    handler: StreamHandler,
    isOpener: boolean,
    overdraws: boolean,
  ) {
    this.#session = session;
    this.id = id;
    this.kind = opening.kind;
    this.handler = handler;
    this.state = opening.end ? StreamState.waiting : INITIAL_STATES[opening.kind];
    this.#isOpener = isOpener;
    this.mayBeOverdrawn = isOpener && overdraws;
    this.#credit = new SendCredit(session.flow, isOpener ? opening.kind === "http" : overdraws);
  }

  get room(): number {
    return this.#session.outbox.full ? 0 : Math.min(this.#credit.available, MAX_PIECE);
  }

  /** Bytes in this stream's window growth. */
  get growth(): number {
    return this.#window?.growth ?? 0;
  }

  /** Whether the peer has ended its direction. */
  get isRemoteComplete(): boolean {
    return !(this.#isOpener ? DOWN_OPEN : UP_OPEN)[this.state] && this.state !== StreamState.asking;
  }

  mayRespond(bytes: number): boolean {
    return bytes <= this.room || (bytes <= HURRIED && this.#credit.fits(bytes));
  }

  async whenRoom(): Promise<void> {
    while (this.ended === null && this.room === 0) {
      if (this.#credit.available > 0) await this.#session.outbox.whenRoom(this.carried < EARLY);
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.ended !== null) throw new StreamEnded(this.ended);
  }

  inform(status: number, block: Uint8Array, start: number, end: number): void {
    if (this.ended !== null) return;
    const next = this.#check(StreamEvent.interim);
    if (status < 100 || status > 199 || status === SWITCHING_PROTOCOLS) throw new RangeError(refuseStatus(status));
    if (end - start > MAX_SMALL_BLOCK) throw new RangeError("cannot send an interim response: its head is too large");
    this.interims++;
    this.#countSent(end - start);
    this.#session.outbox.putResponse(this.id, status, block, start, end, block, end, end, false);
    this.#enter(next);
  }

  respond(
    status: number,
    block: Uint8Array,
    blockStart: number,
    blockEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void {
    if (this.ended !== null) return;
    const isGranted = status === SWITCHING_PROTOCOLS;
    if (!isGranted && (status < 200 || status > 599)) throw new RangeError(refuseStatus(status));
    if (blockEnd - blockStart > MAX_HEAD) throw new RangeError("cannot send a response: its head is too large");
    const next = this.#check(toResponseEvent(isGranted, end));
    this.status = status;
    this.#countSent(blockEnd - blockStart + bodyEnd - bodyStart);
    this.#credit.spend(bodyEnd - bodyStart);
    if (isGranted) this.onUpgrade?.();
    this.#session.outbox.putResponse(this.id, status, block, blockStart, blockEnd, body, bodyStart, bodyEnd, end);
    this.#enter(next);
  }

  send(bytes: Uint8Array, start: number, end: number, last = false): number {
    const { room } = this;
    if (room === 0 || this.ended !== null || start === end) return start;
    const to = Math.min(end, start + room), isEnd = last && to === end;
    const next = this.#check(toDataEvent(this.#isOpener, isEnd));
    this.#credit.spend(to - start);
    this.#countSent(to - start);
    this.#session.outbox.put(FrameType.data, isEnd ? END : 0, this.id, bytes, start, to);
    this.#enter(next);
    return to;
  }

  async write(bytes: Uint8Array, end = false): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      // Other writers can take the room between its announcement and this step.
      while (this.room === 0 || this.ended !== null) await this.whenRoom();
      at = this.send(bytes, at, bytes.length, end);
    }
    if (end && bytes.length === 0) this.end();
  }

  end(trailers: Uint8Array = EMPTY): void {
    if (this.ended !== null || !(this.#isOpener ? UP_OPEN : DOWN_OPEN)[this.state]) return;
    const { outbox } = this.#session, isPlain = trailers.length === 0;
    if (trailers.length > MAX_SMALL_BLOCK) throw new RangeError("cannot send trailers: they are too large");
    const trailersEvent = this.#isOpener ? StreamEvent.upTrailers : StreamEvent.downTrailers;
    const next = this.#check(isPlain ? toDataEvent(this.#isOpener, true) : trailersEvent);
    if (isPlain) outbox.put(FrameType.data, END, this.id, EMPTY, 0, 0);
    else outbox.put(FrameType.trailers, 0, this.id, trailers, 0, trailers.length);
    this.#enter(next);
  }

  reset(reason: ResetReason, text = ""): void {
    if (this.ended !== null) return this.#give(this.#window?.drop() ?? 0);
    const isSentWhole = !(this.#isOpener ? UP_OPEN : DOWN_OPEN)[this.state];
    this.resetText = text;
    this.#session.outbox.putReason(FrameType.reset, this.id, reason, text);
    this.finish(reason, isSentWhole, false);
  }

  consumed(bytes: number): void {
    const window = this.#window;
    if (window === null) return;
    if (this.ended !== null) return this.#give(window.passLate(bytes));
    const { now, roundTripMs } = this.#session;
    this.#give(window.pass(bytes, now(), roundTripMs, this.isRemoteComplete));
    if (!window.wantsRoundTrip) return;
    window.wantsRoundTrip = false;
    this.#session.measureRoundTrip();
  }

  expect(bytes: number): void {
    if (this.ended !== null || this.isRemoteComplete) return;
    this.#window ??= new ReceiveWindow(this.#session.flow);
    this.#give(this.#window.expect(bytes));
  }

  /** Credit arrived. @throws ProtocolError when it adds up to too much */
  addCredit(bytes: number): void {
    if (!this.#credit.add(bytes)) throw new ProtocolError(`stream ${this.id} got too much credit`);
    this.#wakeWriter();
  }

  /**
   * The peer's frame arrived.
   * @param bytes body bytes in it
   * @param now the arrival time
   * @throws ProtocolError when the state has no such event, or the peer had no credit for the bytes
   */
  step(event: StreamEvent, bytes: number, now: number): void {
    const next = NEXT_STATE[this.state * EVENT_COUNT + event];
    if (next === ILLEGAL) throw new ProtocolError(`stream ${this.id}: ${explainIllegal(this.state, event)}`);
    if (bytes > 0) {
      this.carried += bytes;
      this.#window ??= new ReceiveWindow(this.#session.flow);
      if (!this.#window.receive(bytes, now)) {
        throw new ProtocolError(`stream ${this.id} received more than it gave credit for`);
      }
    }
    this.#enter(next as StreamState);
  }

  /**
   * Ends the stream without a frame.
   * @param isSentWhole whether this side's bytes are complete: the peer pays back the overdrawn ones
   * @param isReceivedWhole whether the peer's bytes are complete: they count until they are passed on
   */
  finish(reason: ResetReason, isSentWhole: boolean, isReceivedWhole: boolean): void {
    if (this.ended !== null) return;
    this.ended = reason;
    this.state = StreamState.closed;
    this.#credit.close(this.id, isSentWhole);
    this.#session.forget(this);
    this.#give(this.#window?.close(isReceivedWhole, this.#isOpener && isReceivedWhole) ?? 0);
    this.#wakeWriter();
    this.onFinish?.();
  }

  /** Returns the state after this side's event. @throws Error when there is none, which is a defect in the caller */
  #check(event: StreamEvent): StreamState {
    const next = NEXT_STATE[this.state * EVENT_COUNT + event];
    if (next === ILLEGAL) throw new Error(`cannot send on stream ${this.id}: ${explainIllegal(this.state, event)}`);
    return next as StreamState;
  }

  #enter(next: StreamState): void {
    this.state = next;
    if (next === StreamState.closed) this.finish(ResetReason.none, true, true);
  }

  #countSent(bytes: number): void {
    this.carried += bytes;
    this.idleTicks = 0;
  }

  #give(credit: number): void {
    if (credit > 0) this.#session.outbox.putCredit(this.id, credit);
  }

  #wakeWriter(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** A stream's state after an opening without END. */
const INITIAL_STATES = {
  http: StreamState.request,
  upgrade: StreamState.asking,
  raw: StreamState.joined,
} as const;

/** Returns the event for a final response. */
export function toResponseEvent(isGranted: boolean, end: boolean): StreamEvent {
  if (isGranted) return end ? StreamEvent.grantedEnd : StreamEvent.granted;
  return end ? StreamEvent.responseEnd : StreamEvent.response;
}

/** Returns the event for body bytes. */
export function toDataEvent(isUp: boolean, end: boolean): StreamEvent {
  if (isUp) return end ? StreamEvent.upEnd : StreamEvent.upData;
  return end ? StreamEvent.downEnd : StreamEvent.downData;
}

function refuseStatus(status: number): string {
  return `cannot send a response with status ${status}: it is outside HTTP's range`;
}

const EMPTY = new Uint8Array(0);
/** A stream that has carried fewer bytes does not wait behind large bodies, because most responses are small. */
const EARLY = 16 * 1024;
/** Bodies up to this size go out with their head, however many bytes wait, in bytes. */
const HURRIED = 4 * 1024;

/** The largest stream id. */
const MAX_ID = 0xffffffff;
/** Ids are compared around the circle: the half ahead of the last id is to come, the other half was used. */
const HALF_OF_IDS = 0x80000000;
const FIRST_BUCKETS = 16;
const MAX_BUCKETS = 4096;

/** An entry in {@link StreamTable}. */
export interface TableEntry<T> {
  readonly id: number;
  readonly kind: StreamOpening["kind"];
  /** The next entry in the same bucket; only the table uses it. */
  next: T | null;
}

/**
 * A session's open streams by id, and the ids that were used.
 *
 * Linked entries in buckets, and no `Map`: a map whose entries change all the time is rebuilt again and again, and each
 * old copy keeps the newer one alive until the next full garbage collection. That took a third of a busy relay's time.
 */
export class StreamTable<T extends TableEntry<T>> {
  #buckets: (T | null)[] = new Array(FIRST_BUCKETS).fill(null);
  #size = 0;
  #httpCount = 0;
  #lastId: number;
  /** Whether ids have started again after {@link MAX_ID}. */
  #hasWrapped = false;

  /** @param lastId the id before the first stream's */
  constructor(lastId = 0) {
    this.#lastId = lastId;
  }

  /** Open streams. */
  get size(): number {
    return this.#size;
  }

  /** Open streams in one kind of slot: HTTP requests, or upgrades with raw streams. */
  count(isHttp: boolean): number {
    return isHttp ? this.#httpCount : this.#size - this.#httpCount;
  }

  /** Returns the next free id. */
  nextId(): number {
    do {
      if (this.#lastId === MAX_ID) this.#hasWrapped = true;
      this.#lastId = this.#lastId === MAX_ID ? 1 : this.#lastId + 1;
    } while (this.has(this.#lastId));
    return this.#lastId;
  }

  /** Accepts an id that the peer chose. @throws ProtocolError when it is open or not ahead of the last one */
  acceptId(id: number): void {
    if (this.has(id)) throw new ProtocolError(`stream ${id} is open already`);
    if (((id - this.#lastId - 1) >>> 0) >= HALF_OF_IDS) throw new ProtocolError(`stream ${id} is out of order`);
    if (id < this.#lastId) this.#hasWrapped = true;
    this.#lastId = id;
  }

  /** Whether `id` was used before. */
  wasOpen(id: number): boolean {
    return id <= this.#lastId || (this.#hasWrapped && ((this.#lastId - id) >>> 0) < HALF_OF_IDS);
  }

  /** Returns the open stream with this id. */
  get(id: number): T | undefined {
    let entry = this.#buckets[id % this.#buckets.length];
    while (entry !== null && entry.id !== id) entry = entry.next;
    return entry ?? undefined;
  }

  /** Whether a stream with this id is open. */
  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** Adds an entry whose id is not in the table. */
  add(entry: T): void {
    if (this.#size >= this.#buckets.length && this.#size < MAX_BUCKETS) this.#grow();
    this.#put(entry);
    this.#size++;
    if (entry.kind === "http") this.#httpCount++;
  }

  /** Removes an entry. No effect if it is not in the table. */
  delete(entry: T): void {
    const bucket = entry.id % this.#buckets.length;
    let before: T | null = null, at = this.#buckets[bucket];
    while (at !== null && at !== entry) {
      before = at;
      at = at.next;
    }
    if (at === null) return;
    if (before === null) this.#buckets[bucket] = entry.next;
    else before.next = entry.next;
    entry.next = null;
    this.#size--;
    if (entry.kind === "http") this.#httpCount--;
  }

  /** Returns all entries; later changes do not affect the result. */
  entries(): T[] {
    const all: T[] = [];
    for (let entry of this.#buckets) {
      for (; entry !== null; entry = entry.next) all.push(entry);
    }
    return all;
  }

  #put(entry: T): void {
    const bucket = entry.id % this.#buckets.length;
    entry.next = this.#buckets[bucket];
    this.#buckets[bucket] = entry;
  }

  #grow(): void {
    const entries = this.entries();
    this.#buckets = new Array(this.#buckets.length * 2).fill(null);
    for (const entry of entries) this.#put(entry);
  }
}
