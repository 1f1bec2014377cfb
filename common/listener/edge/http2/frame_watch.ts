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
/** The place of `:method: GET` in HPACK's static table, before that of POST, and GET as a field (RFC 7541, section 6). */
const METHOD = 2;
const GET = 0x80 | METHOD;
/** How a field begins that is in a table, one that is to be kept in it, and a new size of it. */
const INDEXED = 0x80, KEPT = 0x40, TABLE_SIZE = 0x20;
/** An integer has five bytes more at most: 2^28 is more than any frame has. */
const MAX_UNIT = 2 ** 35;
/** Bytes of a frame in which its method is looked for: all but a few clients begin with it, Go's has the host before. */
const METHOD_WITHIN = 1024;
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

/** The frame at `at`, or null when too little of it is there, which is less than {@link METHOD_WITHIN} bytes. */
function readFrame(bytes: Uint8Array, at: number): Frame | null {
  if (bytes.length - at < FRAME_HEAD) return null;
  const length = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2], type = bytes[at + 3], flags = bytes[at + 4];
  if (opensBody({ type, flags }) && bytes.length - at < Math.min(METHOD_WITHIN, FRAME_HEAD + length)) return null;
  const stream = (bytes[at + 5] & 0x7f) << 24 | bytes[at + 6] << 16 | bytes[at + 7] << 8 | bytes[at + 8];
  return { length, type, flags, stream };
}

/** Whether a frame is a request's head that a body follows. */
function opensBody({ type, flags }: Pick<Frame, "type" | "flags">): boolean {
  return type === Type.headers && (flags & END_STREAM) === 0;
}

/** Where the frame that begins at `start` says {@link GET} of a request that has a body, or -1. */
function findGet(bytes: Uint8Array, start: number, frame: Frame): number {
  if (!opensBody(frame)) return -1;
  const end = start + Math.min(METHOD_WITHIN, FRAME_HEAD + frame.length);
  let at = start + FRAME_HEAD;
  if ((frame.flags & PADDED) !== 0) at += 1;
  if ((frame.flags & PRIORITY) !== 0) at += 5;
  while (at < end && bytes[at] !== GET) at = skipField(bytes, at);
  return at < end ? at : -1;
}

/** Offset behind the field at `at`, or the table's new size (RFC 7541, section 6); none behind another method. */
function skipField(bytes: Uint8Array, at: number): number {
  const first = bytes[at], isIndexed = (first & INDEXED) !== 0, isSize = (first & 0xe0) === TABLE_SIZE;
  const { value, end } = readInteger(bytes, at, isIndexed ? 0x7f : isSize ? 0x1f : (first & KEPT) !== 0 ? 0x3f : 0x0f);
  if (isSize) return end;
  if (value === METHOD || value === METHOD + 1) return Infinity;
  if (isIndexed) return end;
  return skipText(bytes, value === 0 ? skipText(bytes, end) : end);
}

/** Offset behind the text at `at` (RFC 7541, section 5.2). */
function skipText(bytes: Uint8Array, at: number): number {
  const { value, end } = readInteger(bytes, at, 0x7f);
  return end + value;
}

/** An integer whose first bits are those of `mask` in the byte at `at` (RFC 7541, section 5.1); what is not there is 0. */
function readInteger(bytes: Uint8Array, at: number, mask: number): { value: number; end: number } {
  let value = bytes[at] & mask, end = at + 1;
  if (value < mask) return { value, end };
  for (let unit = 1, more = true; more && unit < MAX_UNIT; unit *= 128) {
    more = (bytes[end] & 0x80) !== 0;
    value += (bytes[end++] & 0x7f) * unit;
  }
  return { value, end };
}
