import type { Connection } from "../../../connection/mod.ts";
import { CONNECTION_FIELDS, CR, scanFieldLines } from "../../../http1/mod.ts";
import { ErrorCode } from "../../../http2/frames.ts";
import { FIELD_OVERHEAD, STATUS_SIZE, writeField, writeStatus } from "../../../http2/hpack/mod.ts";
import type { Session } from "../../../http2/session.ts";
import type { Stream } from "../../../http2/stream.ts";
import type { ListenerLimits } from "../../limits.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import type { ResponseWriter } from "../../types.ts";

/** Fields that HTTP/2 does not use (RFC 9113, section 8.2.2). */
const LEFT_OUT: readonly string[] = [...CONNECTION_FIELDS.filter((name) => name !== "trailer"), "http2-settings"];
const LEFT_OUT_SIZES: ReadonlySet<number> = new Set(LEFT_OUT.map((name) => name.length));
const LONGEST_LEFT_OUT = Math.max(...LEFT_OUT_SIZES);
const DONE = Promise.resolve();
const NOTHING = new Uint8Array(0);

/** Writes the response on one stream. */
export class Http2ResponseWriter implements ResponseWriter {
  begun = false;
  /** Whether the response is complete or was cut. */
  #isOver = false;
  readonly #session: Session;
  readonly #stream: Stream;
  readonly #isHead: boolean;
  readonly #traffic: ListenerTraffic | null;
  /** Body bytes that are still due, or null without a Content-Length. */
  #left: number | null = null;
  /** The current write, which the next one waits for. */
  #writing: Promise<void> | null = null;

  constructor(session: Session, stream: Stream, isHead: boolean, traffic: ListenerTraffic | null) {
    this.#session = session;
    this.#stream = stream;
    this.#isHead = isHead;
    this.#traffic = traffic;
  }

  inform(status: number, block: Uint8Array): void {
    if (this.begun || !this.#stream.canSend) return;
    this.#session.streams.sendBlock(this.#stream, encodeHead(status, block), false);
  }

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun || !this.#stream.canSend) return;
    this.begun = true;
    this.#traffic?.countResponse(status);
    const isBodiless = this.#isHead || status === 204 || status === 304;
    const isWhole = isBodiless || (end && body.length === 0);
    if (!isBodiless && !this.#counts(length, body.length, end)) return this.cut();
    if (isWhole) this.#isOver = true;
    this.#session.streams.sendBlock(this.#stream, encodeHead(status, block), isWhole);
    if (!isWhole && body.length > 0) void this.#send(body.slice(), end);
  }

  write(chunk: Uint8Array, end = false): Promise<void> {
    if (this.#isOver || !this.#stream.canSend) return DONE;
    if (!this.#counts(this.#left, chunk.length, end)) {
      this.cut();
      return DONE;
    }
    return this.#send(chunk, end);
  }

  end(trailers: Uint8Array = NOTHING): void {
    if (this.#isOver || !this.#stream.canSend) return;
    if (this.#left !== null && this.#left > 0) return this.cut();
    if (trailers.length > 0) this.#stream.trailers = encodeFields(trailers, 0);
    void this.#send(NOTHING, true);
  }

  cut(): void {
    this.#isOver = true;
    this.#session.streams.reset(this.#stream, ErrorCode.internal);
  }

  switchProtocols(): Connection {
    throw new TypeError("HTTP/2 has no upgrades");
  }

  /** Returns whether the client stopped reading the response. Runs once a second. */
  isStalled({ stallSeconds, bodyRate }: ListenerLimits): boolean {
    const stream = this.#stream;
    return stream.left > 0 && ++stream.waited > stallSeconds + stream.left / bodyRate;
  }

  /** Counts body bytes against the announced length. Returns whether they fit. */
  #counts(due: number | null, bytes: number, end: boolean): boolean {
    if (due === null) return true;
    this.#left = due - bytes;
    return this.#left === 0 || (this.#left > 0 && !end);
  }

  /** Sends a chunk after the chunks before it. */
  #send(chunk: Uint8Array, end: boolean): Promise<void> {
    if (end) this.#isOver = true;
    if (chunk.length === 0 && !end) return this.#writing ?? DONE;
    const before = this.#writing;
    const written = before === null ? this.#queue(chunk, end) : before.then(() => this.#queue(chunk, end));
    const writing = this.#writing = written.then(() => {
      if (this.#writing === writing) this.#writing = null;
    });
    return writing;
  }

  #queue(chunk: Uint8Array, end: boolean): Promise<void> {
    const stream = this.#stream;
    if (!stream.canSend) return DONE;
    return new Promise((resolve) => {
      stream.bytes = chunk;
      stream.at = 0;
      stream.ends = end;
      stream.waited = 0;
      stream.written = resolve;
      this.#session.output.wake(stream);
    });
  }
}

/** Encodes a response head. @param block reason phrase, which HTTP/2 omits, and field lines */
function encodeHead(status: number, block: Uint8Array): Uint8Array {
  let at = 0;
  while (block[at] !== CR) at++;
  return encodeFields(block, at + 2, status);
}

/** Encodes checked field lines from `lines[start]` on, after a status if it is not 0. */
function encodeFields(lines: Uint8Array, start: number, status = 0): Uint8Array {
  let count = 0;
  for (let at = start; at < lines.length; at++) if (lines[at] === CR) count++;
  const encoded = new Uint8Array(STATUS_SIZE + lines.length - start + count * FIELD_OVERHEAD);
  let used = status === 0 ? 0 : writeStatus(encoded, 0, status);
  scanFieldLines(lines, start, lines.length, (nameStart, nameEnd, valueStart, valueEnd) => {
    if (isLeftOut(lines, nameStart, nameEnd)) return;
    used = writeField(encoded, used, lines, nameStart, nameEnd, valueStart, valueEnd);
  });
  return encoded.subarray(0, used);
}

function isLeftOut(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > LONGEST_LEFT_OUT || !LEFT_OUT_SIZES.has(end - start)) return false;
  let name = "";
  for (let at = start; at < end; at++) name += String.fromCharCode(bytes[at]);
  return LEFT_OUT.includes(name.toLowerCase());
}
