import { Buffer } from "node:buffer";
import { decodeLatin1 } from "../../../net/http1/mod.ts";
import { copyBytes } from "../../../protocol/mod.ts";
import { type Link, type LinkGrammar, LOOK_BEHIND } from "./link_grammar.ts";
import type { Links } from "./links.ts";

/**
 * Makes links to the local host public in text that arrives in chunks. A possible beginning of a link is held, less
 * than a hundred bytes; all other text passes at once. The result does not depend on the chunk boundaries.
 */
export class LinkRewriter {
  readonly #grammar: LinkGrammar;
  readonly #links: Links;
  /** The last passed characters, which decide where a link may begin. */
  #before = "";
  #held = "";

  constructor(grammar: LinkGrammar, links: Links) {
    this.#grammar = grammar;
    this.#links = links;
  }

  /** Bytes that wait for more text. */
  get held(): number {
    return this.#held.length;
  }

  /** Returns the bytes that can pass now: a view for unchanged text, otherwise a new array. */
  push(bytes: Uint8Array): Uint8Array {
    return this.#run(bytes, false);
  }

  /** Returns the held bytes at the end of the text. */
  end(): Uint8Array {
    return this.#run(NOTHING, true);
  }

  /** Passes bytes unchanged, after the held ones. */
  pass(bytes: Uint8Array): Uint8Array {
    if (this.held === 0) return this.#remember(bytes);
    const held = this.end();
    const passed = new Uint8Array(held.length + bytes.length);
    passed.set(held);
    passed.set(bytes, held.length);
    return this.#remember(passed);
  }

  #remember(passed: Uint8Array): Uint8Array {
    const last = passed.subarray(-LOOK_BEHIND);
    this.#before = (this.#before + decodeLatin1(last, 0, last.length)).slice(-LOOK_BEHIND);
    return passed;
  }

  #run(bytes: Uint8Array, isFinal: boolean): Uint8Array {
    const known = this.#before + this.#held;
    const text = known + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const output = new Pieces(text, known.length, bytes);
    const from = this.#rewrite(text, output, isFinal);
    const end = isFinal ? text.length : this.#findCut(text, from);
    output.keep(from, end);
    this.#before = text.slice(Math.max(0, end - LOOK_BEHIND), end);
    this.#held = text.slice(end);
    return output.join();
  }

  /** Writes up to the last changed link. Returns the offset after it. */
  #rewrite(text: string, output: Pieces, isFinal: boolean): number {
    const { anchor } = this.#grammar;
    let at = this.#before.length;
    anchor.lastIndex = at;
    for (let found = anchor.exec(text); found !== null; found = anchor.exec(text)) {
      const link = this.#grammar.read(text, at, found.index + 1, anchor.lastIndex, isFinal);
      const host = link === null ? null : this.#links.find(link);
      if (link === null || host === null) continue;
      output.keep(at, link.start);
      output.add(this.#print(text, link, host));
      anchor.lastIndex = at = link.end;
    }
    return at;
  }

  #print(text: string, { scheme, start, hostStart, colon }: Link, host: string): string {
    const publicScheme = scheme === "" ? "" : this.#links.toPublicScheme(scheme);
    const portAt = host.indexOf(":"), between = text.slice(start + scheme.length, hostStart);
    return publicScheme + between + (portAt < 0 ? host : host.slice(0, portAt) + colon + host.slice(portAt + 1));
  }

  /** Returns the offset where text must be held, mostly its end. */
  #findCut(text: string, from: number): number {
    const first = Math.max(from, text.length - this.#grammar.maxLength);
    const base = Math.max(0, first - LOOK_BEHIND);
    const window = text.slice(base);
    for (let at = first; at < text.length; at++) {
      if (mayStart(text.charCodeAt(at)) && this.#grammar.isCut(window, at - base)) return at;
    }
    return text.length;
  }
}

const NOTHING = new Uint8Array(0);

/** Whether a link can begin with that character: a scheme's letter, or a spelling for a colon or slash. */
function mayStart(code: number): boolean {
  const lower = code | 0x20;
  return lower === 0x68 || lower === 0x77 || code === 0x2f || code === 0x3a || code === 0x5c || code === 0x25 ||
    code === 0x26;
}

/** Collects output: parts of a text, mostly from `bytes`, and new text. */
class Pieces {
  readonly #text: string;
  readonly #bytesAt: number;
  readonly #bytes: Uint8Array;
  /** Start and end for each part in `bytes`, or a text and -1. */
  readonly #parts: [from: number | string, to: number][] = [];
  #size = 0;

  /** @param bytesAt the text offset where `bytes` begins */
  constructor(text: string, bytesAt: number, bytes: Uint8Array) {
    this.#text = text;
    this.#bytesAt = bytesAt;
    this.#bytes = bytes;
  }

  keep(start: number, end: number): void {
    const at = this.#bytesAt;
    if (start < at) this.add(this.#text.slice(start, Math.min(end, at)));
    const from = Math.max(start, at);
    if (from >= end) return;
    this.#parts.push([from - at, end - at]);
    this.#size += end - from;
  }

  add(text: string): void {
    this.#parts.push([text, -1]);
    this.#size += text.length;
  }

  join(): Uint8Array {
    const [[first, last]] = this.#parts.length === 1 ? this.#parts : [["", -1] as const];
    if (typeof first === "number") return this.#bytes.subarray(first, last);
    const joined = new Uint8Array(this.#size);
    let at = 0;
    for (const [from, to] of this.#parts) {
      if (typeof from === "number") {
        copyBytes(this.#bytes, from, to, joined, at);
        at += to - from;
      } else for (let index = 0; index < from.length; index++) joined[at++] = from.charCodeAt(index);
    }
    return joined;
  }
}
