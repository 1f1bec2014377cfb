import { INITIAL_WINDOW, MAX_EARLY_GROWTH, MAX_PIECE, MAX_WINDOW, MAX_WINDOW_GROWTH } from "./limits.ts";
import { END, FrameType, ProtocolError } from "./frames.ts";
import { ResetReason } from "./reasons.ts";
import type { FrameWriter, Outbox } from "./outbox.ts";
import type { ByteBudget } from "./budget.ts";

/** The use of a stream, and whether its opener sends bytes after the opening. */
export interface StreamOpening {
  /** `http`: one request and its response. `upgrade`: a request for another protocol. `raw`: bytes without HTTP. */
  readonly kind: "http" | "upgrade" | "raw";
  /** The opener sends no bytes after the opening. */
  readonly end: boolean;
}

/** Every opening of a stream. */
export const Opening: Readonly<Record<"bodyless" | "withBody" | "upgrade" | "raw", StreamOpening>> = {
  /** An HTTP request without a body. */
  bodyless: { kind: "http", end: true },
  /** An HTTP request whose body follows. */
  withBody: { kind: "http", end: false },
  /** A request for an upgrade: after a 101 both directions carry bytes. */
  upgrade: { kind: "upgrade", end: false },
  /** Both directions carry bytes at once. The opening may hold any bytes, for example an address. */
  raw: { kind: "raw", end: false },
};

/** A two-way byte channel inside a session. Each direction ends separately and has its own flow control. */
export interface Stream {
  /** The reason for the end, or null while the stream is open. */
  readonly ended: ResetReason | null;
  /** Bytes of heads and bodies so far, both directions. */
  readonly carried: number;
  /** Called once when the stream has ended, for any reason. */
  onFinish: (() => void) | null;
  /** Bytes that {@link send} would take now. */
  readonly room: number;
  /**
   * Waits until {@link room} is above 0. One waiter at a time.
   * @throws StreamEnded when the stream ends first
   */
  whenRoom(): Promise<void>;
  /**
   * Copies as much of `bytes[start, end)` as fits into {@link room} and sends it.
   * @param last whether this direction ends with it; the direction ends only if all bytes fit
   * @returns the offset after the sent bytes: `start` if there is no room or the stream has ended
   */
  send(bytes: Uint8Array, start: number, end: number, last?: boolean): number;
  /**
   * Sends all bytes, as fast as the peer takes them. They are copied when it resolves.
   * @param end whether this direction ends with them
   * @throws StreamEnded when the stream ends first
   */
  write(bytes: Uint8Array, end?: boolean): Promise<void>;
  /** Ends this direction. No effect if it has ended. */
  end(): void;
  /** Reports that received bytes were passed on, which lets the peer send as many again. */
  consumed(bytes: number): void;
  /** Ends both directions and notifies the peer. After the end it drops received bytes that were not passed on. */
  reset(reason: ResetReason, text?: string): void;
}

/** A stream that carries one HTTP request and its response. */
export interface RequestStream extends Stream {
  /** Status of the final response; 0 before it. */
  readonly status: number;
  /** Called when {@link respond} grants an upgrade. */
  onUpgrade: (() => void) | null;
  /**
   * Sends an interim response, at most `MAX_INTERIM` of them and before {@link respond}. Client only. No effect if the
   * stream has ended.
   * @param block reason phrase, CRLF, field lines: `block[start, end)`, at most `MAX_SMALL_BLOCK` bytes
   */
  inform(status: number, block: Uint8Array, start: number, end: number): void;
  /**
   * Sends the head of the response and the first bytes of its body in one frame. Client only. No effect if the stream
   * has ended. The body must fit {@link room}; wait for {@link whenRoom} while that is 0. After a response other than
   * 101 to a request for an upgrade the relay sends nothing more.
   * @param block reason phrase, CRLF, field lines: `block[blockStart, blockEnd)`; likewise the body
   * @param end whether the body is complete with this
   */
  respond(
    status: number,
    block: Uint8Array,
    blockStart: number,
    blockEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void;
  /** Whether {@link respond} may send a body of `bytes` whole: small bodies do not wait for large ones. */
  mayRespond(bytes: number): boolean;
  /**
   * Ends this direction. No effect if it has ended.
   * @param trailers field lines, each with its CRLF, at most `MAX_SMALL_BLOCK` bytes; not on an upgrade
   */
  end(trailers?: Uint8Array): void;
  /** Announces that a body of `bytes` will arrive, so that the receive window can grow before the body fills it. */
  expect(bytes: number): void;
}

/**
 * Receives the events of a stream. Byte views, and offsets into `frame`, are valid during the call only, because the
 * buffer is reused right after it.
 */
export interface StreamHandler {
  /**
   * The final answer, or 101: its block (reason phrase, CRLF, field lines) is `frame[start, blockEnd)`, the body bytes
   * that came with it are `frame[blockEnd, payloadEnd)`. Relay only.
   */
  onResponse?(
    status: number,
    frame: Uint8Array,
    start: number,
    blockEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void;
  /** An interim answer (1xx but 101), with its block likewise. Relay only; passed over when left out. */
  onInterim?(status: number, frame: Uint8Array, start: number, end: number): void;
  /** A chunk of a body, an upgraded or a raw stream. Call {@link Stream.consumed} when it has been passed on. */
  onData(piece: Uint8Array, end: boolean): void;
  /** The body is complete, and these field lines follow it. When left out, `onData` is told of the end. */
  onTrailers?(frame: Uint8Array, start: number, end: number): void;
  /** The session's beat, about once a second. */
  onBeat?(): void;
  /** The stream ended before its time. */
  onReset(reason: ResetReason, text: string): void;
}

/** What a stream asks of the session it belongs to. */
export interface StreamSession {
  readonly outbox: Outbox;
  readonly frames: FrameWriter;
  readonly growth: ByteBudget;
  /** What streams may still send beyond their credit, all together, in bytes. */
  overdraft: number;
  /** The peer's streams have been sent so many bytes more beyond their credit. Says whether they may. */
  peerOverdraws(bytes: number): boolean;
  /** Of these, so many are paid back. */
  peerPaidBack(bytes: number): void;
  /** Milliseconds. */
  readonly now: () => number;
  /** When the peer's last bytes came, by {@link now}. */
  readonly heardAt: number;
  /** How long a word to the peer and its answer take, in milliseconds; Infinity while that is not known. */
  readonly roundTripMs: number;
  /** Asks the peer for a word back, so that {@link roundTripMs} is known; no effect shortly after the last time. */
  measureRoundTrip(): void;
  /** This stream has ended. */
  forget(stream: MuxStream): void;
  /** A stream that has ended is to be given so much credit yet: until then it counts as overdrawn. */
  owe(id: number, bytes: number): void;
}

/** Thrown by writes on a stream that has ended. */
export class StreamEnded extends Error {
  override name = "StreamEnded";
  readonly reason: ResetReason;

  constructor(reason: ResetReason) {
    super("the stream has ended");
    this.reason = reason;
  }
}

/** Status of an upgrade that was granted. */
export const SWITCHING_PROTOCOLS = 101;

/**
 * One visitor request inside a session. Both directions end on their own; when both have, or after a reset, the stream
 * is gone. Sending is paced by the peer's credit, receiving by {@link consumed}.
 */
export class MuxStream implements RequestStream {
  readonly id: number;
  handler: StreamHandler;
  readonly kind: StreamOpening["kind"];
  /** Turns of the session's idle clock since anything moved. */
  idleTurns = 0;
  ended: ResetReason | null = null;
  localEnded = false;
  remoteEnded = false;
  status = 0;
  /** Its answer may begin beyond the credit: relay only. */
  mayBeOverdrawn = false;
  /** Interim answers so far. */
  interims = 0;
  carried = 0;
  /** For the session's table of streams. */
  next: MuxStream | null = null;
  onFinish: (() => void) | null = null;
  onUpgrade: (() => void) | null = null;
  readonly #mux: StreamSession;
  readonly #holds: boolean;
  /** Below 0 by what was overdrawn; likewise the peer's. */
  #sendCredit = INITIAL_WINDOW;
  /** Until credit comes: the peer knows of the body then. */
  #mayOverdraw: boolean;
  /** Bytes the peer may still send. */
  #allowance = INITIAL_WINDOW;
  #window = INITIAL_WINDOW;
  /** Bytes passed on that the peer has not been told of. */
  #ungranted = 0;
  /** Bytes that came and have not been passed on. */
  #waiting = 0;
  /** The stream has ended with all of the peer's bytes here: credit pays back what was overdrawn for them. */
  #paysBack = false;
  /** When credit was given last, or the first piece came; 0 before. */
  #grantedAt = 0;
  /** Since then nearly all that came has been passed on at some time. */
  #hasKeptUp = false;
  #wake: (() => void) | null = null;

  /**
   * @param mayOverdraw whether its body may begin beyond the credit
   * @param holds whether what has come may wait for its reader after the stream has ended well, and counts until then
   */
  constructor(
    mux: StreamSession,
    id: number,
    kind: StreamOpening["kind"],
    handler: StreamHandler,
    mayOverdraw: boolean,
    holds: boolean,
  ) {
    this.#mux = mux;
    this.#holds = holds;
    this.id = id;
    this.kind = kind;
    this.#mayOverdraw = mayOverdraw;
    this.handler = handler;
  }

  get room(): number {
    return this.#mux.outbox.full ? 0 : Math.min(this.#credit, MAX_PIECE);
  }

  /** Bytes that may be sent as far as the peer is concerned. */
  get #credit(): number {
    return Math.max(0, this.#sendCredit) + (this.#mayOverdraw ? this.#mux.overdraft : 0);
  }

  mayRespond(bytes: number): boolean {
    return bytes <= this.room || (bytes <= HURRIED && bytes <= this.#sendCredit);
  }

  /** Window growth that this stream holds of its session's budget, in bytes. */
  get growth(): number {
    return this.#window - INITIAL_WINDOW;
  }

  async whenRoom(): Promise<void> {
    while (this.ended === null && this.room === 0) {
      if (this.#credit > 0) await this.#mux.outbox.whenRoom(this.carried < EARLY);
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.ended !== null) throw new StreamEnded(this.ended);
  }

  inform(status: number, block: Uint8Array, start: number, end: number): void {
    if (this.ended !== null) return;
    this.interims++;
    this.idleTurns = 0;
    this.carried += end - start;
    this.#mux.frames.putResponse(this.id, status, block, start, end, block, end, end, false);
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
    this.status = status;
    this.idleTurns = 0;
    this.carried += blockEnd - blockStart + bodyEnd - bodyStart;
    this.#spend(bodyEnd - bodyStart);
    if (status === SWITCHING_PROTOCOLS) this.onUpgrade?.();
    else if (this.kind === "upgrade") this.remoteEnded = true;
    this.#mux.frames.putResponse(this.id, status, block, blockStart, blockEnd, body, bodyStart, bodyEnd, end);
    if (end) this.#endLocal();
  }

  send(bytes: Uint8Array, start: number, end: number, last = false): number {
    const { room } = this;
    if (room === 0 || this.ended !== null || start === end) return start;
    const to = Math.min(end, start + room), isEnd = last && to === end;
    this.#spend(to - start);
    this.carried += to - start;
    this.idleTurns = 0;
    this.#mux.frames.put(FrameType.data, isEnd ? END : 0, this.id, bytes, start, to);
    if (isEnd) this.#endLocal();
    return to;
  }

  async write(bytes: Uint8Array, end = false): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      // Others that waited for the same room may have taken it by the time this goes on.
      while (this.room === 0 || this.ended !== null) await this.whenRoom();
      at = this.send(bytes, at, bytes.length, end);
    }
    if (end && bytes.length === 0) this.end();
  }

  end(trailers: Uint8Array = EMPTY): void {
    if (this.ended !== null || this.localEnded) return;
    const { frames } = this.#mux;
    if (trailers.length > 0) frames.put(FrameType.trailers, 0, this.id, trailers, 0, trailers.length);
    else frames.put(FrameType.data, END, this.id, EMPTY, 0, 0);
    this.#endLocal();
  }

  reset(reason: ResetReason, text = ""): void {
    if (this.ended !== null) return this.#drop();
    this.#mux.frames.putReason(FrameType.reset, this.id, reason, text);
    this.finish(reason, this.localEnded);
  }

  consumed(bytes: number): void {
    // What is dropped when the stream ends may be told of still.
    this.#waiting = Math.max(0, this.#waiting - bytes);
    if (this.ended !== null) return this.#release();
    this.#ungranted += bytes;
    // Bytes come in bursts, and half of one may still wait here while the other has been passed on.
    this.#hasKeptUp ||= this.#waiting <= this.#window / 4;
    if ((this.remoteEnded && this.#allowance >= 0) || this.#ungranted < this.#window / 2) return;
    const now = this.#mux.now(), sinceMs = now - this.#grantedAt;
    this.#grantedAt = now;
    const grant = this.#ungranted + this.#resize(sinceMs);
    this.#ungranted = 0;
    this.#hasKeptUp = false;
    if (grant > 0) this.#give(grant);
  }

  expect(bytes: number): void {
    if (bytes <= this.#window || this.ended !== null || this.remoteEnded) return;
    const wanted = Math.min(bytes, EASY_WINDOW) - this.#window;
    const more = this.#mux.growth.take(wanted, MAX_WINDOW_GROWTH - MAX_EARLY_GROWTH);
    if (more === 0) return;
    this.#window += more;
    this.#give(more);
  }

  #give(credit: number): void {
    if (this.#allowance < 0) this.#mux.peerPaidBack(Math.min(credit, -this.#allowance));
    this.#allowance += credit;
    this.#mux.frames.putCredit(this.id, credit);
  }

  /** Fits the window to a reader who took half of it in `sinceMs`. Returns the bytes it grew by, negative if it shrank. */
  #resize(sinceMs: number): number {
    const { growth: budget } = this.#mux;
    if (sinceMs > SHRINK_AFTER_MS) {
      const less = Math.min(this.growth, this.#ungranted);
      this.#window -= less;
      budget.giveBack(less);
      return -less;
    }
    // With much of the window waiting here all the time it is the reader that holds things up: more would only wait too.
    if (sinceMs > GROW_WITHIN_MS || !this.#hasKeptUp || this.#window >= MAX_WINDOW) return 0;
    this.#mux.measureRoundTrip();
    const isEasy = this.#window < EASY_WINDOW;
    if (!isEasy && !this.#needsMore(sinceMs)) return 0;
    const more = budget.take(Math.min(GROW_BY * this.#window, (isEasy ? EASY_WINDOW : MAX_WINDOW) - this.#window));
    this.#window += more;
    return more;
  }

  /** Whether more is on its way during some round trips than the window holds: the rest would only ever wait here. */
  #needsMore(sinceMs: number): boolean {
    const { roundTripMs } = this.#mux;
    // Bytes that waited somewhere come in bursts, which tell nothing of what comes in the long run.
    const perMs = this.#ungranted / Math.max(sinceMs, roundTripMs, BURST_MS);
    return this.#window < ROUND_TRIPS * perMs * roundTripMs;
  }

  /** For the mux: credit arrived. @throws ProtocolError when it adds up to more than twice a window's bound */
  addCredit(bytes: number): void {
    if (this.#sendCredit < 0) this.#mux.overdraft += Math.min(bytes, -this.#sendCredit);
    this.#sendCredit += bytes;
    this.#mayOverdraw = false;
    if (this.#sendCredit > 2 * MAX_WINDOW) throw new ProtocolError(`stream ${this.id} was given too much credit`);
    this.#wakeWriter();
  }

  /** For the mux: `bytes` of body arrived. @throws ProtocolError when there was no credit for them */
  take(bytes: number): void {
    if (bytes === 0) return;
    if (this.#grantedAt === 0) this.#grantedAt = this.#mux.heardAt;
    this.#allowance -= bytes;
    this.#waiting += bytes;
    this.carried += bytes;
    if (this.#allowance >= 0 || this.#mux.peerOverdraws(Math.min(bytes, -this.#allowance))) return;
    throw new ProtocolError(`stream ${this.id} received more than it gave credit for`);
  }

  /** For the mux: the peer's direction is complete. */
  endRemote(): void {
    this.remoteEnded = true;
    if (this.localEnded) this.finish(ResetReason.none, true, true);
  }

  /**
   * Forgets the stream without telling the peer.
   * @param owes whether this side's bytes are whole on their way: the peer pays back what was overdrawn for them
   * @param isWhole whether the peer's have all come: what waits of them counts until it is passed on, and is paid back then
   */
  finish(reason: ResetReason, owes = false, isWhole = false): void {
    if (this.ended !== null) return;
    this.ended = reason;
    this.#paysBack = isWhole;
    if (this.#sendCredit < 0 && owes) this.#mux.owe(this.id, -this.#sendCredit);
    else if (this.#sendCredit < 0) this.#mux.overdraft -= this.#sendCredit;
    this.#mux.forget(this);
    if (this.#holds && isWhole) this.#release();
    else this.#drop();
    this.#wakeWriter();
    this.onFinish?.();
  }

  #spend(bytes: number): void {
    this.#sendCredit -= bytes;
    if (this.#sendCredit < 0) this.#mux.overdraft -= Math.min(bytes, -this.#sendCredit);
  }

  #drop(): void {
    this.#waiting = 0;
    this.#release();
  }

  /** Gives back what this stream, which has ended, holds of the session's budgets and does not need for what waits. */
  #release(): void {
    const paid = -this.#allowance - this.#waiting;
    if (paid > 0 && this.#paysBack) this.#give(paid);
    else if (paid > 0) {
      this.#allowance += paid;
      this.#mux.peerPaidBack(paid);
    }
    const less = this.growth - this.#waiting;
    if (less <= 0) return;
    this.#window -= less;
    this.#mux.growth.giveBack(less);
  }

  #endLocal(): void {
    this.localEnded = true;
    if (this.remoteEnded) this.finish(ResetReason.none, true, true);
  }

  #wakeWriter(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

const EMPTY = new Uint8Array(0);
/** A stream that has carried no more, in bytes, need not wait behind large bodies: most answers are small. */
const EARLY = 16 * 1024;
/** Bodies that go with the head, however much else waits to be sent, in bytes. */
const HURRIED = 4 * 1024;
/** A reader that takes half a window within this is held up by the window, not by itself. */
const GROW_WITHIN_MS = 250;
/** Windows are filled within a few round trips: 40 KiB, 200 KiB, 1000 KiB, 5000 KiB, 15 MiB. */
const GROW_BY = 4;
/** A window holds what comes in so many round trips: one would be enough if credit came for each byte. */
const ROUND_TRIPS = 3;
const BURST_MS = 20;
/** Up to this, two steps, a window needs no more reason to grow than a reader who keeps up, whatever the line. */
const EASY_WINDOW = 25 * INITIAL_WINDOW;
/** A reader that takes longer than this for half a window does not need one that large. */
const SHRINK_AFTER_MS = 2000;
