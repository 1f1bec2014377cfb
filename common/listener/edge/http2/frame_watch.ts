import { Buffer } from "node:buffer";
import { encodeLatin1 } from "../../../http1/mod.ts";

const Type = { data: 0, headers: 1, priority: 2, rstStream: 3, settings: 4, ping: 6, continuation: 9 } as const;
/** Cost the server more than the visitor, or are of no use to anyone (RFC 9113, section 10.5). */
const COSTLY: ReadonlySet<number> = new Set([
  Type.priority,
  Type.rstStream,
  Type.settings,
  Type.ping,
  Type.continuation,
]);
const END_STREAM = 0x1;
const ACK = 0x1;
const PADDED = 0x8;
const PRIORITY = 0x20;
/** Nobody asked for it: the server pings only when it stops, and writes a line of its log about each of these. */
const UNASKED_PONG_COST = 50;
const PREFACE = [..."PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].map((char) => char.charCodeAt(0));
const FRAME_HEAD = 9;
/** Nothing larger is taken from a visitor unless they are told (RFC 9113, section 4.2). */
const MAX_FRAME = 16_384;
/** `:method: GET` by its place in HPACK's static table, and the name of a literal method (RFC 7541, section 6). */
const GET = 0x82;
const METHOD = 0x02;
/** A new size of the dynamic table, of which a head may begin with two (RFC 7541, section 4.2). */
const TABLE_SIZE = 0x20;
const MAX_UPDATES = 2;
/** Bytes of a frame in which its first field begins: behind padding's length, a priority and two table sizes. */
const FIRST_FIELD = FRAME_HEAD + 1 + 5 + MAX_UPDATES * 6 + 1;
/**
 * PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION and empty DATA frames that may come within {@link WINDOW_MS}.
 * A browser that closes a page full of requests sends some hundred at once, and then none for a while.
 */
const MAX_COST = 1000;
const WINDOW_MS = 5000;

/**
 * Looks at the frames that a visitor sends, as they pass, and says when they are a flood or no frames at all. A GET that
 * has a body is given another method, as `Deno.serve` drops what comes with GET.
 */
export class FrameWatch {
  /** The stream that was opened last, 0 before the first. */
  lastStream = 0;
  #preface = 0;
  /** Bytes to pass on until the next frame begins. */
  #skip = 0;
  /** The start of a frame of which more must come. */
  #kept: Uint8Array = new Uint8Array(0);
  #cost = 0;
  #windowStart: number;
  /** The field that takes the place of {@link GET}, if any does. */
  readonly #method: Uint8Array | null;
  readonly #now: () => number;

  /**
   * @param getWithBody the method of a GET with a body, at most 126 letters, or null where it can stay what it is
   * @param now milliseconds of a clock that is never set back
   */
  constructor(getWithBody: string | null, now: () => number = () => performance.now()) {
    this.#method = getWithBody === null
      ? null
      : Uint8Array.of(METHOD, getWithBody.length, ...encodeLatin1(getWithBody));
    this.#now = now;
    this.#windowStart = now();
  }

  /** Takes the next bytes. @returns what can be passed on, or null when the connection should be ended */
  push(bytes: Uint8Array): Uint8Array | null {
    const all = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    const passed: Uint8Array[] = [];
    let at = 0, from = 0;
    while (this.#preface < PREFACE.length && at < all.length) {
      // Else it would be read as HTTP/1.1, with another idea of where a request ends.
      if (all[at++] !== PREFACE[this.#preface++]) return null;
    }
    for (;;) {
      const step = Math.min(this.#skip, all.length - at);
      this.#skip -= step;
      at += step;
      const frame = readFrame(all, at);
      if (frame === null) break;
      if (!this.#takes(frame)) return null;
      this.#skip = FRAME_HEAD + frame.length;
      if (this.#method === null) continue;
      const get = findGet(all, at, frame), length = frame.length - 1 + this.#method.length;
      if (get < 0 || length > MAX_FRAME) continue;
      const start = Uint8Array.from(all.subarray(at, get));
      start.set([length >> 16, length >> 8, length]);
      passed.push(all.subarray(from, at), start, this.#method);
      from = get + 1;
    }
    this.#kept = Uint8Array.from(all.subarray(at));
    const rest = all.subarray(from, at);
    return passed.length === 0 ? rest : Buffer.concat([...passed, rest]);
  }

  #takes({ type, flags, length, stream }: Frame): boolean {
    // HEADERS are an upload's trailers as well.
    if (type === Type.headers && stream > this.lastStream) this.lastStream = stream;
    // An upload's end may be an empty frame of its own, one a stream.
    const isEmptyData = type === Type.data && length === 0 && (flags & END_STREAM) === 0;
    if (!COSTLY.has(type) && !isEmptyData) return true;
    return this.#spend(type === Type.ping && (flags & ACK) !== 0 ? UNASKED_PONG_COST : 1);
  }

  #spend(cost: number): boolean {
    const now = this.#now();
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#cost = 0;
    }
    this.#cost += cost;
    return this.#cost <= MAX_COST;
  }
}

/** A frame's head (RFC 9113, section 4.1). */
interface Frame {
  /** Bytes of its payload. */
  length: number;
  type: number;
  flags: number;
  stream: number;
}

/** The frame at `at`, or null when too little of it is there, which is less than {@link FIRST_FIELD} bytes. */
function readFrame(bytes: Uint8Array, at: number): Frame | null {
  if (bytes.length - at < FRAME_HEAD) return null;
  const length = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2], type = bytes[at + 3], flags = bytes[at + 4];
  if (opensBody({ type, flags }) && bytes.length - at < Math.min(FIRST_FIELD, FRAME_HEAD + length)) return null;
  const stream = (bytes[at + 5] & 0x7f) << 24 | bytes[at + 6] << 16 | bytes[at + 7] << 8 | bytes[at + 8];
  return { length, type, flags, stream };
}

/** Whether a frame is a request's head that a body follows. */
function opensBody({ type, flags }: Pick<Frame, "type" | "flags">): boolean {
  return type === Type.headers && (flags & END_STREAM) === 0;
}

/** Where the frame that begins at `start` says {@link GET}, as the first field of a request that has a body, or -1. */
function findGet(bytes: Uint8Array, start: number, frame: Frame): number {
  if (!opensBody(frame)) return -1;
  let at = start + FRAME_HEAD;
  if ((frame.flags & PADDED) !== 0) at += 1;
  if ((frame.flags & PRIORITY) !== 0) at += 5;
  for (let updates = 0; updates < MAX_UPDATES && (bytes[at] & 0xe0) === TABLE_SIZE; updates++) {
    if (bytes[at++] !== (TABLE_SIZE | 0x1f)) continue;
    // A larger integer (RFC 7541, section 5.1): all of its bytes but the last have the highest bit.
    while (at < start + FIRST_FIELD && (bytes[at++] & 0x80) !== 0);
  }
  return at < start + FRAME_HEAD + frame.length && bytes[at] === GET ? at : -1;
}
