import type { Origin } from "../../../common/forwarded.ts";
import { decodeLatin1, encodeLatin1, type RequestHead } from "../../../common/http1/mod.ts";
import type { Exchange } from "../../../common/listener/mod.ts";
import { copyBytes, type HeadWriter } from "../../../protocol/mod.ts";
import { isDroppedFromRequest, namedByRequest } from "./hygiene.ts";

const SLASH = 0x2f;
const STAR = 0x2a;
const SPACE = 0x20;
const VERSION = encodeLatin1(" HTTP/1.1\r\n");
const CONNECTION_UPGRADE = encodeLatin1("connection: Upgrade\r\n");
/** For what is written beside a visitor's own bytes and the fields added. */
const ROOM = 64;

/**
 * The head that a visitor's request travels with (docs/protocol.md): request line, `host` first of the field lines,
 * then what the visitor sent less what stays behind, byte for byte, then where it came from, then a blank line.
 */
export class VisitorHead implements HeadWriter {
  readonly headSize: number;
  readonly #head: RequestHead;
  readonly #isUpgrade: boolean;
  readonly #added: AddedLines;

  constructor({ head, host, upgrade }: Exchange, origin: Pick<Origin, "address" | "proto">) {
    this.#head = head;
    this.#isUpgrade = upgrade !== null;
    this.#added = addedLines(host, origin);
    this.headSize = head.end - head.start + this.#added.host.length + this.#added.tail.length + ROOM;
  }

  writeHead(into: Uint8Array, at: number): number {
    const head = this.#head, { bytes } = head;
    at = put(into, at, bytes, head.start, head.methodEnd);
    into[at++] = SPACE;
    const first = bytes[head.targetStart];
    // Of a target that named its host what is left may be a query, or nothing.
    if (first !== SLASH && !(first === STAR && head.targetEnd - head.targetStart === 1)) into[at++] = SLASH;
    at = put(into, at, bytes, head.targetStart, head.targetEnd);
    at = put(into, at, VERSION, 0, VERSION.length);
    at = put(into, at, this.#added.host, 0, this.#added.host.length);
    at = this.#writeFields(into, at);
    return put(into, at, this.#added.tail, 0, this.#added.tail.length);
  }

  /** Copies runs of field lines between those that stay behind. */
  #writeFields(into: Uint8Array, at: number): number {
    const head = this.#head, { bytes } = head;
    const named = namedByRequest(head);
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
    if (!this.#isUpgrade) return at;
    const field = head.upgradeField;
    at = put(into, at, CONNECTION_UPGRADE, 0, CONNECTION_UPGRADE.length);
    return put(into, at, bytes, head.nameStart(field), head.valueEnd(field) + 2);
  }
}

function put(into: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  copyBytes(bytes, start, end, into, at);
  return at + end - start;
}

/** The lines of one visitor, which those of the next are likely to be too. */
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

/** The Host that led to this tunnel counts: proxies that do not set X-Forwarded-Host pass a visitor's own on. */
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
