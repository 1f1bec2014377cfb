import {
  decodeLatin1,
  encodeLatin1,
  FieldSyntaxError,
  isWord,
  MAX_FIELDS,
  parseContentLength,
  scanFieldName,
  scanValue,
} from "../../../common/http1/mod.ts";
import { copyBytes, MAX_HEAD } from "../../../protocol/mod.ts";
import { isDroppedFromAnswer, namedByConnection } from "./hygiene.ts";

/** What is added to a block at most. */
const ROOM = 64;

/**
 * The block of an answer's head on its way to a visitor: checked, and less what belongs to one connection. One serves
 * all answers: {@link bytes} is good until the next is read.
 */
export class AnswerBlock {
  /** Bytes that the block's Content-Length states, or -1. */
  length = -1;
  readonly #memory = new Uint8Array(MAX_HEAD + ROOM);
  #size = 0;

  /** Reason phrase, CRLF, field lines. */
  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#size);
  }

  /**
   * Reads `frame[start, end)`, the block of an answer with that status.
   * @throws FieldSyntaxError for what is no field line (RFC 9112, section 5), and for more than 256 of them
   */
  read(status: number, frame: Uint8Array, start: number, end: number): void {
    const named = this.#read(status, frame, start, end, null);
    if (named !== null) this.#read(status, frame, start, end, named);
  }

  /** Leaves out the fields in `named`, and returns those that Connection fields among the lines name: seldom any. */
  #read(status: number, frame: Uint8Array, start: number, end: number, named: Names): Names {
    const keepsLength = status >= 200 && status !== 204;
    this.length = -1;
    this.#size = 0;
    let found: Names = null;
    let at = scanValue(frame, start, end), run = start, fields = 0;
    if (at < 0) throw new FieldSyntaxError("the reason phrase is cut short");
    for (at += 2; at < end;) {
      const colon = scanFieldName(frame, at, end);
      const valueEnd = colon < 0 ? -1 : scanValue(frame, colon + 1, end);
      if (valueEnd < 0 || ++fields > MAX_FIELDS) throw new FieldSyntaxError("too many field lines, or one cut short");
      const isLength = colon - at === CONTENT_LENGTH.length && isWord(frame, at, colon, CONTENT_LENGTH);
      if (isLength) this.#takeLength(frame, colon + 1, valueEnd);
      else if (colon - at === CONNECTION.length && isWord(frame, at, colon, CONNECTION)) {
        found = joinNames(found, namedByConnection(decodeLatin1(frame, colon + 1, valueEnd).trim()));
      }
      const isUpgrade = status === 101 && colon - at === UPGRADE.length && isWord(frame, at, colon, UPGRADE);
      const stays = (isDroppedFromAnswer(frame, at, colon) && !isUpgrade) || (isLength && !keepsLength) ||
        (named !== null && named.has(decodeLatin1(frame, at, colon).toLowerCase()));
      if (stays) {
        this.#copy(frame, run, at);
        run = valueEnd + 2;
      }
      at = valueEnd + 2;
    }
    this.#copy(frame, run, end);
    return found;
  }

  /** States the length of a body that came whole without one. */
  addLength(length: number): void {
    const line = encodeLatin1(`content-length: ${length}\r\n`);
    this.#copy(line, 0, line.length);
    this.length = length;
  }

  #takeLength(frame: Uint8Array, start: number, end: number): void {
    if (this.length >= 0) throw new FieldSyntaxError("two lengths");
    this.length = parseContentLength(frame, start, end);
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    copyBytes(bytes, start, end, this.#memory, this.#size);
    this.#size += end - start;
  }
}

const CONTENT_LENGTH = "content-length";
const CONNECTION = "connection";
const UPGRADE = "upgrade";

type Names = ReadonlySet<string> | null;

/** Several Connection fields count as one. */
function joinNames(some: Names, more: Names): Names {
  return some === null || more === null ? some ?? more : new Set([...some, ...more]);
}
