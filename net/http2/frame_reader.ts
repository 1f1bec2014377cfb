import { ConnectionError, ErrorCode, Flag, FRAME_HEAD, FrameType, MAX_FRAME, PREFACE, readU31 } from "./frames.ts";
import { INPUT, type InputEvent, type InputState } from "./states.ts";

/** The reason in each state for rejecting a frame. */
const REJECTIONS: Readonly<Record<InputState, string>> = {
  preface: "no preface",
  settings: "the first frame is not SETTINGS",
  frames: "CONTINUATION without HEADERS",
  block: "another frame inside a field block",
  discard: "",
};

/** The receiver of complete frames. */
export interface FrameSink {
  /** Whether HEADERS frames must wait. Other frames continue, because they may cancel begun streams. */
  readonly isPaused: boolean;
  /** Processes a frame whose payload is `bytes[start, end)`. @throws ConnectionError to end the session */
  onFrame(type: number, flags: number, id: number, bytes: Uint8Array, start: number, end: number): void;
}

/** Splits received bytes into frames and checks their order: the input of `states.ts`. */
export class FrameReader {
  #state: InputState = "preface";
  /** Size of the incomplete frame with its head, in bytes; 0 if the head is incomplete. */
  frameSize = 0;
  #prefaceRead = 0;
  /** The stream whose field block is incomplete. */
  #blockId = 0;

  /** Whether received bytes are dropped. */
  get isDiscarding(): boolean {
    return this.#state === "discard";
  }

  /** Whether the client must complete the preface, its first SETTINGS or a field block. */
  get isWaiting(): boolean {
    return this.#state === "preface" || this.#state === "settings" || this.#state === "block";
  }

  /** Drops all bytes from now on. */
  finish(): void {
    this.#accept("finish");
  }

  /**
   * Passes the complete frames in `bytes[from, end)` to the sink.
   * @returns the offset after the last one
   * @throws ConnectionError
   */
  read(bytes: Uint8Array, from: number, end: number, sink: FrameSink): number {
    let at = this.#state === "preface" ? this.#readPreface(bytes, from, end) : from;
    this.frameSize = 0;
    while (end - at >= FRAME_HEAD && this.#state !== "discard") {
      const type = bytes[at + 3], flags = bytes[at + 4];
      if (type === FrameType.headers && sink.isPaused) break;
      const length = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2];
      if (length > MAX_FRAME) throw new ConnectionError(ErrorCode.frameSize, "a frame is too large");
      const start = at + FRAME_HEAD;
      if (end - start < length) {
        this.frameSize = FRAME_HEAD + length;
        break;
      }
      const id = readU31(bytes, at + 5);
      if (this.#accept(this.#eventOf(type, flags, id))) sink.onFrame(type, flags, id, bytes, start, start + length);
      at = start + length;
    }
    return this.#state === "discard" ? end : at;
  }

  /** Applies an event. Returns whether its frame is processed. @throws ConnectionError */
  #accept(event: InputEvent): boolean {
    const before = this.#state, { next, effect } = INPUT[before][event];
    this.#state = next;
    if (effect === "reject") throw new ConnectionError(ErrorCode.protocol, REJECTIONS[before]);
    return effect === "take";
  }

  #readPreface(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    for (; at < end && this.#prefaceRead < PREFACE.length; at++) {
      if (bytes[at] !== PREFACE[this.#prefaceRead++]) throw new ConnectionError(ErrorCode.protocol, "no preface");
    }
    if (this.#prefaceRead === PREFACE.length) this.#accept("prefaceEnd");
    return at;
  }

  #eventOf(type: number, flags: number, id: number): InputEvent {
    const isEnd = (flags & Flag.endHeaders) !== 0;
    if (type === FrameType.headers) {
      if (this.#state === "frames") this.#blockId = id;
      return isEnd ? "headers" : "headersPart";
    }
    if (type === FrameType.settings) return "settings";
    if (type !== FrameType.continuation || (this.#state === "block" && id !== this.#blockId)) return "otherFrame";
    return isEnd ? "continuationEnd" : "continuation";
  }
}
