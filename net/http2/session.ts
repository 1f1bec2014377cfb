import { Flood } from "./flood.ts";
import { FrameReader } from "./frame_reader.ts";
import {
  ConnectionError,
  ErrorCode,
  FIRST_WINDOW,
  Flag,
  FrameType,
  MAX_FRAME,
  MAX_WINDOW,
  readU31,
  readU32,
  Setting,
  SETTING_SIZE,
  StreamError,
  unpaddedSize,
  writeU32,
} from "./frames.ts";
import { listSizeOf } from "./request_fields.ts";
import { SendQueue } from "./send_queue.ts";
import { LIFE, type LifeEvent, type LifeState } from "./states.ts";
import { CONNECTION_WINDOW, MAX_STREAMS, Streams, type StreamsOwner } from "./streams.ts";

/** Limits after the last frame was sent: seconds until the client must have closed, and bytes dropped meanwhile. */
const LINGER_SECONDS = 2;
const LINGER_BYTES = 1024 * 1024;
const ENCODER = new TextEncoder();

/** Session limits. */
export interface SessionLimits {
  /** Largest request head in bytes. */
  maxHeadBytes: number;
  /** Most fields in a request head. */
  maxFields: number;
  /** Seconds for the preface, and for a field block from its first frame to its last. */
  headSeconds: number;
}

/** The effects that a session requests from its driver. */
export interface SessionDriver extends Pick<StreamsOwner, "openStream" | "startStream" | "onChange"> {
  /** Reports that {@link Session.output} has bytes to write. */
  onReady(): void;
  /** Reports that no frame follows: write all frames, then close this direction. */
  onFinish(): void;
  /** Ends the connection at once. */
  abort(): void;
}

/**
 * The rules for an HTTP/2 server session (RFC 9113), without I/O or a clock. Received bytes, commands and the time go in;
 * frames in {@link output} and calls to the {@link SessionDriver} come out. `states.ts` has the states.
 */
export class Session {
  /** Frames to write. */
  readonly output: SendQueue;
  /** Open streams. */
  readonly streams: Streams;
  readonly #driver: SessionDriver;
  readonly #limits: SessionLimits;
  readonly #reader = new FrameReader();
  readonly #flood = new Flood();
  #state: LifeState = "open";
  #discarded = 0;
  /** Seconds since the input waits, and since the session is finishing. */
  #waited = 0;
  #lingered = 0;

  constructor(driver: SessionDriver, limits: SessionLimits) {
    this.#driver = driver;
    this.#limits = limits;
    const output = new SendQueue({
      onReady: () => driver.onReady(),
      onStreamEnd: (stream) => this.streams.endResponse(stream),
    });
    this.output = output;
    this.streams = new Streams({
      output,
      flood: this.#flood,
      maxHeadBytes: limits.maxHeadBytes,
      acceptsRequest: () => LIFE[this.#state].request.effect === "begin",
      openStream: (stream, fields) => driver.openStream(stream, fields),
      startStream: (receiver) => driver.startStream(receiver),
      onChange: () => driver.onChange(),
      onIdle: () => this.#apply("idle"),
    });
  }

  /** Whether {@link receive} stopped early: the driver calls it again after other connections had a turn. */
  get isPaused(): boolean {
    return this.streams.isPaused;
  }

  /** Size of the incomplete frame with its head, in bytes; 0 if the head is incomplete. */
  get frameSize(): number {
    return this.#reader.frameSize;
  }

  /** Sends SETTINGS and the connection window. */
  start(): void {
    const payload = new Uint8Array(2 * SETTING_SIZE), { maxHeadBytes, maxFields } = this.#limits;
    payload[1] = Setting.maxConcurrentStreams;
    writeU32(payload, 2, MAX_STREAMS);
    payload[SETTING_SIZE + 1] = Setting.maxHeaderListSize;
    writeU32(payload, SETTING_SIZE + 2, listSizeOf(maxHeadBytes, maxFields));
    this.output.putFrame(FrameType.settings, 0, 0, payload);
    this.output.putNumber(FrameType.windowUpdate, 0, CONNECTION_WINDOW - FIRST_WINDOW);
  }

  /**
   * Processes the frames in `bytes[start, end)`. Connection errors end the session; they are not thrown.
   * @param now milliseconds of a monotonic clock
   * @returns the offset after the last complete frame
   */
  receive(bytes: Uint8Array, start: number, end: number, now: number): number {
    this.streams.startRound(now);
    if (this.#reader.isDiscarding) {
      this.#discarded += end - start;
      if (this.#discarded > LINGER_BYTES) this.#driver.abort();
      return end;
    }
    try {
      const at = this.#reader.read(bytes, start, end, this);
      this.streams.endRound();
      return at;
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.fail(error);
      return end;
    }
  }

  /** Counts a second. Ends the connection if the client is too slow. */
  tick(): void {
    const isLate = this.#reader.isWaiting && ++this.#waited > this.#limits.headSeconds;
    const isLingering = this.#state === "finishing" && ++this.#lingered > LINGER_SECONDS;
    if (isLate || isLingering) return this.#driver.abort();
    this.streams.tick();
  }

  /** Announces the end: running streams finish and no stream begins. */
  retire(): void {
    this.#apply("retire");
    if (this.streams.size === 0) this.#apply("idle");
  }

  /** Ends the session because of an error. */
  fail(error: ConnectionError): void {
    this.#apply("failure", error);
  }

  /** Ends the session because the connection has ended. */
  close(): void {
    this.#apply("close");
  }

  /** Processes a frame in its turn. */
  onFrame(type: number, flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const { now } = this.streams;
    const size = type === FrameType.data ? unpaddedSize(flags, bytes, start, end) : end - start;
    if (this.#flood.isFloodedBy(type, flags, size, now)) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many frames of little use");
    }
    try {
      this.#processFrame(type, flags, id, bytes, start, end);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      if (this.#flood.isOneTooMany(now)) throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many stream errors");
      this.streams.onStreamError(id, error.code);
    }
  }

  /** Applies a lifetime event and performs its effect. */
  #apply(event: LifeEvent, error?: ConnectionError): void {
    const { next, effect } = LIFE[this.#state][event];
    this.#state = next;
    switch (effect) {
      case "goAway":
        return this.#sendGoAway(ErrorCode.none, "");
      case "abort":
        this.#reader.finish();
        this.streams.endAll();
        this.#sendGoAway(error?.code ?? ErrorCode.internal, error?.message ?? "");
        return this.#driver.onFinish();
      case "finish":
        this.#reader.finish();
        return this.#driver.onFinish();
      case "release":
        this.output.close();
        return this.streams.endAll();
    }
  }

  #processFrame(type: number, flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const { streams } = this;
    switch (type) {
      case FrameType.data:
        return streams.onData(id, flags, bytes, start, end);
      case FrameType.headers:
        this.#waited = 0;
        return streams.onHeaders(id, flags, bytes, start, end);
      case FrameType.priority:
        return checkPriority(id, bytes, start, end);
      case FrameType.rstStream:
        return streams.onReset(id, end - start);
      case FrameType.settings:
        return this.#onSettings(id, flags, bytes, start, end);
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, "PUSH_PROMISE from a client");
      case FrameType.ping:
        return this.#onPing(id, flags, bytes, start, end);
      case FrameType.goAway:
        if (id !== 0) throw new ConnectionError(ErrorCode.protocol, "GOAWAY on a stream");
        return;
      case FrameType.windowUpdate:
        return streams.onWindowUpdate(id, bytes, start, end);
      case FrameType.continuation:
        return streams.onContinuation(flags, bytes, start, end);
    }
  }

  #onSettings(id: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw new ConnectionError(ErrorCode.protocol, "SETTINGS on a stream");
    const isAck = (flags & Flag.ack) !== 0;
    if ((end - start) % SETTING_SIZE !== 0 || (isAck && start !== end)) {
      throw new ConnectionError(ErrorCode.frameSize, "SETTINGS have another size");
    }
    if (isAck) return;
    let window = this.output.initialWindow;
    for (let at = start; at < end; at += SETTING_SIZE) {
      const setting = bytes[at] << 8 | bytes[at + 1], value = readU32(bytes, at + 2);
      checkSetting(setting, value);
      if (setting === Setting.initialWindowSize) window = value;
    }
    this.streams.moveWindows(window);
    this.output.putFrame(FrameType.settings, Flag.ack, 0);
  }

  #onPing(id: number, flags: number, bytes: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw new ConnectionError(ErrorCode.protocol, "PING on a stream");
    if (end - start !== 8) throw new ConnectionError(ErrorCode.frameSize, "PING has another size");
    if ((flags & Flag.ack) === 0) this.output.putFrame(FrameType.ping, Flag.ack, 0, bytes.subarray(start, end));
  }

  #sendGoAway(code: ErrorCode, text: string): void {
    const reason = ENCODER.encode(text), payload = new Uint8Array(8 + reason.length);
    writeU32(payload, writeU32(payload, 0, this.streams.lastId), code);
    payload.set(reason, 8);
    this.output.putFrame(FrameType.goAway, 0, 0, payload);
  }
}

/** Checks a SETTINGS entry (RFC 9113, section 6.5.2). @throws ConnectionError for a value out of range */
function checkSetting(setting: number, value: number): void {
  if (setting === Setting.enablePush && value > 1) {
    throw new ConnectionError(ErrorCode.protocol, "ENABLE_PUSH is 0 or 1");
  }
  if (setting === Setting.maxFrameSize && (value < MAX_FRAME || value > 0xffffff)) {
    throw new ConnectionError(ErrorCode.protocol, "MAX_FRAME_SIZE is out of range");
  }
  if (setting === Setting.initialWindowSize && value > MAX_WINDOW) {
    throw new ConnectionError(ErrorCode.flowControl, "INITIAL_WINDOW_SIZE is out of range");
  }
}

/** Checks a PRIORITY frame, which has no effect. */
function checkPriority(id: number, bytes: Uint8Array, start: number, end: number): void {
  if (id === 0) throw new ConnectionError(ErrorCode.protocol, "PRIORITY on no stream");
  if (end - start !== 5) throw new StreamError(ErrorCode.frameSize, "PRIORITY has another size");
  if (readU31(bytes, start) === id) throw new StreamError(ErrorCode.protocol, "a stream depends on itself");
}
