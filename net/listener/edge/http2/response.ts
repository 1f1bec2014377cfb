import type { Connection } from "../../../connection/mod.ts";
import { CONNECTION_FIELDS, CR, scanFieldLines } from "../../../http1/mod.ts";
import { FIELD_OVERHEAD, STATUS_SIZE, writeField, writeStatus } from "../../../http2/hpack/mod.ts";
import type { ListenerLimits } from "../../limits.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import type { ResponseWriter } from "../../types.ts";
import { ErrorCode } from "./frames.ts";
import { Outgoing, type Sender } from "./sender.ts";

/** Fields that HTTP/2 has no use for (RFC 9113, section 8.2.2). */
const LEFT_OUT: readonly string[] = [...CONNECTION_FIELDS.filter((name) => name !== "trailer"), "http2-settings"];
const LEFT_OUT_SIZES: ReadonlySet<number> = new Set(LEFT_OUT.map((name) => name.length));
const LONGEST_LEFT_OUT = Math.max(...LEFT_OUT_SIZES);

/** What an answer asks of its stream. */
export interface Replied {
  readonly id: number;
  readonly isHead: boolean;
  /** The answer is out, but for what the system keeps. */
  onResponded(): void;
  /** Breaks the stream off. */
  reset(code: ErrorCode): void;
}

/** The answer of one stream, in bytes. */
export class Http2ResponseWriter implements ResponseWriter {
  begun = false;
  /** The answer is complete, or was broken off: nothing more can be said. */
  isOver = false;
  readonly outgoing: Outgoing;
  readonly #stream: Replied;
  readonly #sender: Sender;
  readonly #traffic: ListenerTraffic | null;
  #isBodiless = false;
  /** Bytes of the body that are still due, where a length was given. */
  #left: number | null = null;
  /** The write under way, which the next one waits for. */
  #writing: Promise<void> | null = null;

  constructor(stream: Replied, sender: Sender, traffic: ListenerTraffic | null) {
    this.#stream = stream;
    this.#sender = sender;
    this.#traffic = traffic;
    this.outgoing = new Outgoing(stream.id, sender.initialWindow, () => stream.onResponded());
  }

  inform(status: number, block: Uint8Array): void {
    if (this.begun || this.#isGone) return;
    this.#sender.putBlock(this.#stream.id, codeAnswer(status, block), false);
  }

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun || this.#isGone) return;
    this.begun = true;
    this.#traffic?.countResponse(status);
    this.#isBodiless = this.#stream.isHead || status === 204 || status === 304;
    const isWhole = this.#isBodiless || (end && body.length === 0);
    if (!this.#isBodiless && !this.#counts(length, body.length, end)) return this.cut();
    this.#sender.putBlock(this.#stream.id, codeAnswer(status, block), isWhole);
    if (!isWhole) return void (body.length > 0 && this.#send(body.slice(), end));
    this.isOver = this.outgoing.isOver = true;
    this.#stream.onResponded();
  }

  write(piece: Uint8Array, end = false): Promise<void> {
    if (this.isOver || this.#isGone) return DONE;
    if (!this.#counts(this.#left, piece.length, end)) {
      this.cut();
      return DONE;
    }
    return this.#send(piece, end);
  }

  end(trailers: Uint8Array = NOTHING): void {
    if (this.isOver || this.#isGone) return;
    if (this.#left !== null && this.#left > 0) return this.cut();
    if (trailers.length > 0) this.outgoing.trailers = codeFields(trailers, 0);
    void this.#send(NOTHING, true);
  }

  cut(): void {
    this.isOver = true;
    this.#stream.reset(ErrorCode.internal);
  }

  switchProtocols(): Connection {
    throw new TypeError("HTTP/2 has no upgrades");
  }

  /** Asked once a second: whether the visitor has stopped taking the answer. */
  isStalled({ stallSeconds, bodyRate }: ListenerLimits): boolean {
    const { outgoing } = this;
    return outgoing.left > 0 && ++outgoing.waited > stallSeconds + outgoing.left / bodyRate;
  }

  /** The stream has ended in another way. */
  get #isGone(): boolean {
    return this.outgoing.isOver;
  }

  /** Counts bytes of a body with a length, and says whether they fit it. */
  #counts(due: number | null, bytes: number, end: boolean): boolean {
    if (due === null) return true;
    this.#left = due - bytes;
    return this.#left === 0 || (this.#left > 0 && !end);
  }

  /** When its turn comes. */
  #send(piece: Uint8Array, end: boolean): Promise<void> {
    if (end) this.isOver = true;
    if (piece.length === 0 && !end) return this.#writing ?? DONE;
    const before = this.#writing;
    const written = before === null ? this.#hand(piece, end) : before.then(() => this.#hand(piece, end));
    const writing = this.#writing = written.then(() => {
      if (this.#writing === writing) this.#writing = null;
    });
    return writing;
  }

  #hand(piece: Uint8Array, end: boolean): Promise<void> {
    const { outgoing } = this;
    if (outgoing.isOver) return DONE;
    return new Promise((resolve) => {
      outgoing.bytes = piece;
      outgoing.at = 0;
      outgoing.ends = end;
      outgoing.waited = 0;
      outgoing.written = resolve;
      this.#sender.wake(outgoing);
    });
  }
}

const DONE = Promise.resolve();
const NOTHING = new Uint8Array(0);

/** The field block of an answer whose reason phrase and field lines are `block`. HTTP/2 has no reason phrase. */
function codeAnswer(status: number, block: Uint8Array): Uint8Array {
  let at = 0;
  while (block[at] !== CR) at++;
  return codeFields(block, at + 2, status);
}

/** Codes field lines, which were checked: `lines[start]` and on, behind a status if there is one. */
function codeFields(lines: Uint8Array, start: number, status = 0): Uint8Array {
  let count = 0;
  for (let at = start; at < lines.length; at++) if (lines[at] === CR) count++;
  const coded = new Uint8Array(STATUS_SIZE + lines.length - start + count * FIELD_OVERHEAD);
  let used = status === 0 ? 0 : writeStatus(coded, 0, status);
  scanFieldLines(lines, start, lines.length, (nameStart, nameEnd, valueStart, valueEnd) => {
    if (isLeftOut(lines, nameStart, nameEnd)) return;
    used = writeField(coded, used, lines, nameStart, nameEnd, valueStart, valueEnd);
  });
  return coded.subarray(0, used);
}

function isLeftOut(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > LONGEST_LEFT_OUT || !LEFT_OUT_SIZES.has(end - start)) return false;
  let name = "";
  for (let at = start; at < end; at++) name += String.fromCharCode(bytes[at]);
  return LEFT_OUT.includes(name.toLowerCase());
}
