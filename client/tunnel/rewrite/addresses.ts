import { CR, decodeLatin1, encodeLatin1, LF, type RequestHead, skipSpace, trimSpace } from "../../../net/http1/mod.ts";
import { copyBytes } from "../../../protocol/mod.ts";

/** A request whose head is written for the service. */
interface WrittenRequest {
  readonly head: RequestHead;
  /** No body follows. */
  readonly bodyless: boolean;
  /** The request asks for an upgrade. */
  readonly upgrade: boolean;
}

/** The value in a field line, without the white space around it. */
export interface ValueAt {
  readonly start: number;
  readonly end: number;
}

/** A replacement for `frame[start, end)` in a request's head. */
export interface Edit extends ValueAt {
  readonly bytes: Uint8Array;
}

/**
 * Translates between the public URL and the local service's address, in both directions, when the service receives its
 * own Host. A request must name one origin consistently, or frameworks reject it; a response must send the browser to
 * an address that it can reach.
 */
export class Addresses {
  /** Lower-case names for the service, with and without a port. */
  readonly #authorities: ReadonlySet<string>;
  readonly #hostnames: ReadonlySet<string>;
  readonly #origin: Uint8Array;
  readonly #host: Uint8Array;
  readonly #proto: Uint8Array;
  readonly #findOther: FindOther;
  /** The last public host and its base as text: nearly always there is only one. */
  #lastHost: Uint8Array = new Uint8Array(0);
  #lastBases: PublicBase | null = null;

  /**
   * @param service the service's URL
   * @param hostHeader the Host that the service receives
   * @param findOther finds the public origin for another local address
   */
  constructor(service: URL, hostHeader: string, findOther: FindOther = () => null) {
    const { port } = service, hostname = hostHeader.replace(/:\d+$/, "");
    this.#hostnames = new Set([...LOCAL_NAMES, service.hostname, hostname].map((name) => name.toLowerCase()));
    // A service behind a port mapping does not know its port and omits it.
    const withPort = (name: string) => port === "" ? [name, `${name}:80`, `${name}:443`] : [name, `${name}:${port}`];
    this.#authorities = new Set([...[...this.#hostnames].flatMap(withPort), hostHeader.toLowerCase()]);
    const proto = service.protocol.slice(0, -1);
    this.#origin = ENCODER.encode(`${proto}://${hostHeader}`);
    this.#host = ENCODER.encode(hostHeader);
    this.#proto = ENCODER.encode(proto);
    this.#findOther = findOther;
  }

  /**
   * Returns the changes that make a request agree with its new Host: an Origin or Referer that names the public URL.
   * Frameworks compare an Origin with Host, or with X-Forwarded-Host and X-Forwarded-Proto if they trust those, so
   * beside such an Origin these fields name the service too.
   * @returns null if none is needed
   */
  editRequest(head: RequestHead): Edit[] | null {
    const { bytes } = head;
    const origin = findValue(head, "origin"), referer = findValue(head, "referer");
    if (origin === null && referer === null) return null;
    // A relay writes the host first.
    const host = readValue(head, 0);
    const edits: Edit[] = [];
    const originEnd = origin === null ? -1 : publicEnd(bytes, origin, host);
    if (origin !== null && originEnd === origin.end) {
      const forwardedHost = findValue(head, "x-forwarded-host"), forwardedProto = findValue(head, "x-forwarded-proto");
      edits.push({ ...origin, bytes: this.#origin });
      if (forwardedHost !== null) edits.push({ ...forwardedHost, bytes: this.#host });
      if (forwardedProto !== null) edits.push({ ...forwardedProto, bytes: this.#proto });
    }
    const refererEnd = referer === null ? -1 : publicEnd(bytes, referer, host);
    if (referer !== null && refererEnd >= 0) edits.push({ start: referer.start, end: refererEnd, bytes: this.#origin });
    return edits.length === 0 ? null : edits.sort((one, other) => one.start - other.start);
  }

  /** Returns the request's public URL, for {@link editResponse}. */
  readBase(head: RequestHead): PublicBase {
    const { bytes } = head, host = readValue(head, 0), forwardedProto = findValue(head, "x-forwarded-proto");
    const isSecure = forwardedProto !== null && forwardedProto.end - forwardedProto.start === "https".length;
    const last = this.#lastBases;
    if (last !== null && last.isSecure === isSecure && isSame(bytes, host, this.#lastHost)) return last;
    this.#lastHost = bytes.slice(host.start, host.end);
    const text = DECODER.decode(this.#lastHost);
    const hostname = text.replace(/:\d+$/, "");
    const origin = `${isSecure ? "https" : "http"}://${text}`;
    return this.#lastBases = { isSecure, origin, host: text.toLowerCase(), hostname };
  }

  /**
   * Returns a response's head in which the public URL replaces the service's address.
   * @param block reason phrase, CRLF, field lines: `block[start, end)`
   * @returns null if it does not name the service, as for most
   */
  editResponse(block: Uint8Array, start: number, end: number, base: PublicBase): Uint8Array | null {
    let edits: Edit[] | null = null;
    for (let at = lineEnd(block, start, end); at < end;) {
      const next = lineEnd(block, at, end);
      const edit = this.#editLine(block, at, next - 2, base);
      if (edit !== null) (edits ??= []).push(edit);
      at = next;
    }
    return edits === null ? null : applyEdits(block, start, end, edits);
  }

  #editLine(block: Uint8Array, start: number, end: number, base: PublicBase): Edit | null {
    // The first letter rules out most fields without further comparison.
    const candidates = NAMES[block[start] | 0x20];
    const name = candidates?.find((name) => isField(block, start, end, name));
    if (name === undefined) return null;
    const from = start + name.length + 1;
    const text = decodeLatin1(block, from, end), edited = this.#editValue(name, text, base);
    return edited === text ? null : { start: from, end, bytes: encodeLatin1(edited) };
  }

  #editValue(name: FieldName, text: string, base: PublicBase): string {
    if (name === "set-cookie") {
      return text.replace(
        COOKIE_DOMAIN,
        (whole, before: string, domain: string) =>
          this.#hostnames.has(domain.toLowerCase()) ? before + base.hostname : whole,
      );
    }
    return text.replace(
      PLACES[name],
      (whole, before: string, authority: string) => {
        const origin = this.#authorities.has(authority.toLowerCase()) ? base.origin : this.#findOther(authority, base);
        return origin === null ? whole : before + origin;
      },
    );
  }
}

/** A request's public URL. */
export interface PublicBase {
  readonly isSecure: boolean;
  /** Scheme, host and port, without a slash. */
  readonly origin: string;
  /** With its port, in lower case. */
  readonly host: string;
  readonly hostname: string;
}

/** Returns the public origin for `host:port` if another local service has one; otherwise null. */
export type FindOther = (authority: string, base: PublicBase) => string | null;

/** Names for this machine that a service may use for itself. */
const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

/** Patterns for values that can name the service: a prefix, then a URL's authority. */
const URL_AUTHORITY = String.raw`(?:https?:)?//([^/?#<>"'\\\s;,]+)`;
const AT_START = new RegExp(`^([ \t]*)${URL_AUTHORITY}`, "i");
const PLACES = {
  location: AT_START,
  "content-location": AT_START,
  "access-control-allow-origin": AT_START,
  // Only the redirect URL counts: a URL in its query belongs to the service.
  refresh: new RegExp(`(url[ \t]*=[ \t]*["']?)${URL_AUTHORITY}`, "i"),
  link: new RegExp(`(<)${URL_AUTHORITY}`, "gi"),
};
const COOKIE_DOMAIN = /(;[ \t]*domain[ \t]*=[ \t]*\.?)([^;\s]+)/i;
type FieldName = keyof typeof PLACES | "set-cookie";

/** Field names by their first letter's code. */
const NAMES: Readonly<Record<number, readonly FieldName[]>> = {
  [0x61]: ["access-control-allow-origin"],
  [0x63]: ["content-location"],
  [0x6c]: ["location", "link"],
  [0x72]: ["refresh"],
  [0x73]: ["set-cookie"],
};

const COLON = 0x3a, SLASH = 0x2f, QUESTION = 0x3f, HASH = 0x23;

function isField(block: Uint8Array, start: number, end: number, name: string): boolean {
  if (end - start <= name.length || block[start + name.length] !== COLON) return false;
  for (let index = 0; index < name.length; index++) {
    if ((block[start + index] | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** Returns the value's position in the last field with this name. */
function findValue(head: RequestHead, name: string): ValueAt | null {
  const field = head.find(name);
  return field < 0 ? null : readValue(head, field);
}

/** Returns the value's position in the field line with this number. */
export function readValue(head: RequestHead, field: number): ValueAt {
  const end = head.valueEnd(field), start = skipSpace(head.bytes, head.nameEnd(field) + 1, end);
  return { start, end: trimSpace(head.bytes, start, end) };
}

/** Returns the offset after the line's LF. */
function lineEnd(block: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && block[at] !== LF) at++;
  return at + 1;
}

const SCHEMES = ["https://", "http://"];

/** Returns the offset after scheme and host if a URL names the public host; otherwise -1. */
function publicEnd(frame: Uint8Array, { start, end }: ValueAt, host: ValueAt): number {
  const scheme = SCHEMES.find((scheme) => startsWith(frame, start, end, scheme));
  if (scheme === undefined) return -1;
  const from = start + scheme.length, to = from + host.end - host.start;
  if (to > end) return -1;
  for (let index = 0; from + index < to; index++) {
    if (toLower(frame[from + index]) !== toLower(frame[host.start + index])) return -1;
  }
  const next = frame[to];
  return to === end || next === SLASH || next === QUESTION || next === HASH ? to : -1;
}

const toLower = (byte: number) => byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;

function startsWith(frame: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start < text.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (frame[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function isSame(frame: Uint8Array, { start, end }: ValueAt, bytes: Uint8Array): boolean {
  if (end - start !== bytes.length) return false;
  for (let index = 0; index < bytes.length; index++) if (frame[start + index] !== bytes[index]) return false;
  return true;
}

/** Returns a copy of `block[start, end)` with edits, which must be in order. */
export function applyEdits(block: Uint8Array, start: number, end: number, edits: readonly Edit[]): Uint8Array {
  const size = edits.reduce((sum, edit) => sum + edit.bytes.length - (edit.end - edit.start), end - start);
  const edited = new Uint8Array(size);
  let from = start, at = 0;
  for (const edit of edits) {
    copyBytes(block, from, edit.start, edited, at);
    at += edit.start - from;
    copyBytes(edit.bytes, 0, edit.bytes.length, edited, at);
    at += edit.bytes.length;
    from = edit.end;
  }
  copyBytes(block, from, end, edited, at);
  return edited;
}

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** Options for the heads that the service receives. */
export interface RequestHeadWriterOptions {
  /** The Host that the service receives, or null for the visitor's. */
  hostHeader: string | null;
  /** Adapts the other fields to the Host. */
  addresses: Addresses | null;
}

/** Rewrites the few lines in a request's head that change on the way to the local service. */
export class RequestHeadWriter {
  readonly #hostLine: Uint8Array | null;
  readonly #addresses: Addresses | null;

  constructor({ hostHeader, addresses }: RequestHeadWriterOptions) {
    this.#hostLine = hostHeader === null ? null : ENCODER.encode(`host: ${hostHeader}\r\n`);
    this.#addresses = addresses;
  }

  /**
   * @param scratch buffer for the head, used if it is large enough; it must not change until it was sent
   * @param more additional edits, for values that {@link Addresses} does not change
   */
  write(request: WrittenRequest, scratch: Uint8Array | null, more: readonly Edit[] = NO_EDITS): Uint8Array {
    const { bytes, start, end, fieldsStart } = request.head;
    const edits = this.#addresses?.editRequest(request.head) ?? NO_EDITS;
    if (edits.length > 0 || more.length > 0) return this.#writeEdited(request, edits, more);
    const added = addedLine(request);
    const hostLine = this.#hostLine, hostEnd = hostLineEnd(request.head);
    const hostSize = hostLine === null ? hostEnd - fieldsStart : hostLine.length;
    // The blank line at the end moves after the added line.
    const fieldsEnd = end - 2;
    const lineSize = fieldsStart - start, fieldsAt = lineSize + hostSize;
    const size = fieldsAt + fieldsEnd - hostEnd + added.length + 2;
    const written = scratch !== null && size <= scratch.length ? scratch.subarray(0, size) : new Uint8Array(size);
    copyBytes(bytes, start, fieldsStart, written, 0);
    if (hostLine === null) copyBytes(bytes, fieldsStart, hostEnd, written, lineSize);
    else copyBytes(hostLine, 0, hostSize, written, lineSize);
    copyBytes(bytes, hostEnd, fieldsEnd, written, fieldsAt);
    copyBytes(added, 0, added.length, written, size - added.length - 2);
    written[size - 2] = CR;
    written[size - 1] = LF;
    return written;
  }

  #writeEdited(request: WrittenRequest, edits: readonly Edit[], more: readonly Edit[]): Uint8Array {
    const { bytes, start, end, fieldsStart } = request.head;
    const all = [...edits, ...more].sort((one, other) => one.start - other.start);
    if (this.#hostLine !== null) {
      all.unshift({ start: fieldsStart, end: hostLineEnd(request.head), bytes: this.#hostLine });
    }
    const added = addedLine(request);
    if (added.length > 0) all.push({ start: end - 2, end: end - 2, bytes: added });
    return applyEdits(bytes, start, end, all);
  }
}

/** Returns the offset after the `host` line, which is the first. */
function hostLineEnd(head: RequestHead): number {
  return head.valueEnd(0) + 2;
}

const NOTHING = new Uint8Array(0);
const NO_EDITS: readonly Edit[] = [];
const CHUNKED = ENCODER.encode("transfer-encoding: chunked\r\n");

/** Returns the line that announces chunks for a body without a length. */
function addedLine({ bodyless, upgrade, head }: WrittenRequest): Uint8Array {
  return bodyless || upgrade || head.hasLength || head.framing === "chunked" ? NOTHING : CHUNKED;
}
