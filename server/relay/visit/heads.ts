import type { Origin } from "../../../net/forwarded.ts";
import {
  CONNECTION_FIELDS,
  decodeLatin1,
  encodeLatin1,
  FieldSyntaxError,
  isWord,
  MAX_FIELDS,
  parseContentLength,
  type RequestHead,
  scanFieldName,
  scanValue,
} from "../../../net/http1/mod.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { FieldEdits } from "./edits.ts";
import { copyBytes, type HeadWriter, MAX_HEAD } from "../../../protocol/mod.ts";

const SLASH = 0x2f;
const STAR = 0x2a;
const SPACE = 0x20;
const VERSION = encodeLatin1(" HTTP/1.1\r\n");
const CONNECTION_UPGRADE = encodeLatin1("connection: Upgrade\r\n");
const EXPECT_CONTINUE = encodeLatin1("expect: 100-continue\r\n");
/** Space for the version, the separators and the upgrade lines. */
const ROOM = 64;

/**
 * The forwarded head for a visitor's request (docs/reference/protocol.md): the request line, `host`, the visitor's other
 * fields byte for byte without the dropped ones, the fields about the visitor, and a blank line.
 */
export class VisitorHead implements HeadWriter {
  readonly headSize: number;
  readonly #head: RequestHead;
  readonly #isUpgrade: boolean;
  readonly #expectsContinue: boolean;
  readonly #added: AddedLines;
  readonly #edits: { names: Names; lines: Uint8Array } | null;

  /** @param edits header fields that gates replace or remove, or null */
  constructor(
    exchange: Exchange,
    origin: Pick<Origin, "address" | "proto">,
    edits: FieldEdits | null = null,
  ) {
    const { head, host, upgrade } = exchange;
    this.#head = head;
    this.#expectsContinue = expectsContinue(exchange);
    this.#isUpgrade = upgrade !== null;
    this.#added = addedLines(host, origin);
    this.#edits = edits === null ? null : { names: edits.names, lines: edits.serialize() };
    const edited = this.#edits?.lines.length ?? 0;
    this.headSize = head.end - head.start + this.#added.host.length + this.#added.tail.length + edited + ROOM;
  }

  writeHead(into: Uint8Array, at: number): number {
    const head = this.#head, { bytes } = head;
    at = put(into, at, bytes, head.start, head.methodEnd);
    into[at++] = SPACE;
    const first = bytes[head.targetStart];
    // A target in absolute form may leave only a query, or nothing.
    if (first !== SLASH && !(first === STAR && head.targetEnd - head.targetStart === 1)) into[at++] = SLASH;
    at = put(into, at, bytes, head.targetStart, head.targetEnd);
    at = put(into, at, VERSION, 0, VERSION.length);
    at = put(into, at, this.#added.host, 0, this.#added.host.length);
    at = this.#writeFields(into, at);
    if (this.#edits !== null) at = put(into, at, this.#edits.lines, 0, this.#edits.lines.length);
    return put(into, at, this.#added.tail, 0, this.#added.tail.length);
  }

  /** Copies the runs of field lines between dropped ones. */
  #writeFields(into: Uint8Array, at: number): number {
    const head = this.#head, { bytes } = head;
    const named = joinNames(namedByRequest(head), this.#edits?.names ?? null);
    let run = head.fieldsStart;
    for (let field = 0; field < head.fieldCount; field++) {
      const start = head.nameStart(field), end = head.nameEnd(field);
      const stays = isDroppedFromRequest(bytes, start, end) ||
        (named !== null && named.has(decodeLatin1(bytes, start, end).toLowerCase()));
      if (!stays) continue;
      at = put(into, at, bytes, run, start);
      run = head.valueEnd(field) + 2;
    }
    at = put(into, at, bytes, run, head.end - 2);
    if (this.#expectsContinue) at = put(into, at, EXPECT_CONTINUE, 0, EXPECT_CONTINUE.length);
    if (!this.#isUpgrade) return at;
    const field = head.upgradeField;
    at = put(into, at, CONNECTION_UPGRADE, 0, CONNECTION_UPGRADE.length);
    return put(into, at, bytes, head.nameStart(field), head.valueEnd(field) + 2);
  }
}

/** Whether the visitor waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
export function expectsContinue({ head, hasBody }: Pick<Exchange, "head" | "hasBody">): boolean {
  return head.expectation === "continue" && hasBody && head.minorVersion === 1;
}

function put(into: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  copyBytes(bytes, start, end, into, at);
  return at + end - start;
}

/** The lines about a visitor. Consecutive requests often have equal ones. */
interface AddedLines {
  readonly host: Uint8Array;
  readonly tail: Uint8Array;
}

let last = { host: "", address: "", proto: "", lines: createAddedLines("", "", "") };

function addedLines(host: string, { address, proto }: Pick<Origin, "address" | "proto">): AddedLines {
  if (last.host !== host || last.address !== address || last.proto !== proto) {
    last = { host, address, proto, lines: createAddedLines(host, address, proto) };
  }
  return last.lines;
}

/** Creates the lines from the Host that found the tunnel, since a visitor may send its own X-Forwarded-Host. */
function createAddedLines(host: string, address: string, proto: string): AddedLines {
  const node = address.includes(":") ? `"[${address}]"` : address;
  return {
    host: encodeLatin1(`host: ${host}\r\n`),
    tail: encodeLatin1(
      `x-forwarded-for: ${address}\r\nx-forwarded-proto: ${proto}\r\nx-forwarded-host: ${host}\r\n` +
        `forwarded: for=${node};proto=${proto};host="${host}"\r\n\r\n`,
    ),
  };
}

/**
 * A response head's block for a visitor: checked, and without connection fields. One object serves all responses:
 * {@link bytes} is valid until the next read.
 */
export class ResponseBlock {
  /** The Content-Length in bytes, or -1. */
  length = -1;
  readonly #memory = new Uint8Array(MAX_HEAD + ROOM);
  #size = 0;

  /** The reason phrase, CRLF, and the field lines. */
  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#size);
  }

  /**
   * Reads `frame[start, end)`, a response block with that status.
   * @throws FieldSyntaxError for a malformed field line (RFC 9112, section 5), and for too many lines
   */
  read(status: number, frame: Uint8Array, start: number, end: number): void {
    const named = this.#read(status, frame, start, end, null);
    if (named !== null) this.#read(status, frame, start, end, named);
  }

  /** Drops the fields in `named`. Returns the names that the block's own Connection fields list, which are rare. */
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
      const stays = (isDroppedFromResponse(frame, at, colon) && !isUpgrade) || (isLength && !keepsLength) ||
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

  /** Adds the length for a complete body whose head has none. */
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

/** Joins two sets of names. */
function joinNames(some: Names, more: Names): Names {
  return some === null || more === null ? some ?? more : new Set([...some, ...more]);
}

/**
 * Request fields that only the relay sets, and others that frameworks trust as a proxy's. A visitor's values have no
 * effect.
 */
const OURS = [
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "proxy-authorization",
  "x-forwarded-by",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-protocol",
  "x-forwarded-scheme",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-real-ip",
];

/** Names that CGI and WSGI treat as the checked Content-Length, because they replace "-" by "_". */
const MISSPELT = ["content_length"];

/** A power of two. */
const SLOTS = 1024;

/** Tests a field name, `bytes[start, end)`, in any case. */
export type NameTest = (bytes: Uint8Array, start: number, end: number) => boolean;

const isOfConnectionOrOurs = createNameTest([...CONNECTION_FIELDS, ...OURS], MISSPELT);
const isOfConnection = createNameTest([...CONNECTION_FIELDS, "portway-error"]);

const OWN_PREFIX = "portway-";

/** Whether the relay drops a visitor's field. A visitor cannot set Portway's own fields. */
export function isDroppedFromRequest(bytes: Uint8Array, start: number, end: number): boolean {
  return isOfConnectionOrOurs(bytes, start, end) ||
    (end - start > OWN_PREFIX.length && isSpelt(bytes, start, start + OWN_PREFIX.length, OWN_PREFIX));
}

/** Whether the relay drops a local service's field. */
export const isDroppedFromResponse: NameTest = isOfConnection;

/**
 * Creates a test by first letter and length, on bytes. Few names from browsers share both with a listed name, and the
 * test creates no text.
 * @param names with "-" or "_", since CGI and WSGI treat both alike
 * @param exact names without that substitution
 */
function createNameTest(names: readonly string[], exact: readonly string[] = []): NameTest {
  const slots: (string[] | undefined)[] = new Array(SLOTS).fill(undefined);
  for (const name of [...names, ...exact]) {
    (slots[slotOf(name.charCodeAt(0), name.length)] ??= []).push(name);
  }
  return (bytes, start, end) => {
    const slot = slots[slotOf(bytes[start] | 0x20, end - start)];
    return slot !== undefined && slot.some((name) => isSpelt(bytes, start, end, name));
  };
}

function slotOf(first: number, length: number): number {
  return (first * 32 + length) & (SLOTS - 1);
}

const DASH = 0x2d;
const UNDERSCORE = 0x5f;

/** Whether the bytes spell `name`, with "_" accepted for "-". */
function isSpelt(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    const byte = bytes[start + index], wanted = name.charCodeAt(index);
    if (byte === wanted || (byte | 0x20) === wanted && byte !== UNDERSCORE) continue;
    if (wanted === DASH && byte === UNDERSCORE) continue;
    return false;
  }
  return true;
}

/** Returns the unusual names that a request's Connection lists, in lower case, or null. */
function namedByRequest(head: RequestHead): ReadonlySet<string> | null {
  return head.namesFields ? namedByConnection(head.values("connection") ?? "") : null;
}

/**
 * Returns the unusual names that a Connection field lists, in lower case, or null. Content-Length never counts, because a
 * body without it would have no end.
 */
export function namedByConnection(value: string): ReadonlySet<string> | null {
  if (/^(?:keep-alive|close|upgrade|keep-alive, *upgrade)$/i.test(value)) return null;
  const names = new Set(value.toLowerCase().split(",").map((name) => name.trim()));
  names.delete("close");
  names.delete("content-length");
  return names;
}
