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

/** Where the value of a field lies, without the white space around it. */
export interface ValueAt {
  readonly start: number;
  readonly end: number;
}

/** A value of a request's head that gives way to another: `frame[start, end)`. */
export interface Edit extends ValueAt {
  readonly bytes: Uint8Array;
}

/**
 * Keeps the public URL and the local service's own address apart, in both directions, when the service sees its own
 * Host: what a request says of where it comes from must agree with that, or frameworks take it for a foreign one; and
 * where an answer sends a browser must be where the browser can go.
 */
export class Addresses {
  /** Host names, with a port or without, that mean the service, lower case. */
  readonly #authorities: ReadonlySet<string>;
  readonly #hostnames: ReadonlySet<string>;
  readonly #origin: Uint8Array;
  readonly #host: Uint8Array;
  readonly #proto: Uint8Array;
  readonly #findOther: FindOther;
  /** The public host seen last, and its base as text: nearly always there is one. */
  #lastHost: Uint8Array = new Uint8Array(0);
  #lastBases: PublicBase | null = null;

  /**
   * @param service where the service is
   * @param hostHeader the Host that it sees
   * @param findOther finds what is public besides the service
   */
  constructor(service: URL, hostHeader: string, findOther: FindOther = () => null) {
    const { port } = service, hostname = hostHeader.replace(/:\d+$/, "");
    this.#hostnames = new Set([...LOCAL_NAMES, service.hostname, hostname].map((name) => name.toLowerCase()));
    // A service behind a port mapping does not know the port it is reached at, and leaves it out.
    const withPort = (name: string) => port === "" ? [name, `${name}:80`, `${name}:443`] : [name, `${name}:${port}`];
    this.#authorities = new Set([...[...this.#hostnames].flatMap(withPort), hostHeader.toLowerCase()]);
    const proto = service.protocol.slice(0, -1);
    this.#origin = ENCODER.encode(`${proto}://${hostHeader}`);
    this.#host = ENCODER.encode(hostHeader);
    this.#proto = ENCODER.encode(proto);
    this.#findOther = findOther;
  }

  /**
   * What must change in a request so that it agrees with its new Host: an Origin or a Referer that names the public
   * URL. Frameworks hold an Origin to Host, or to X-Forwarded-Host and -Proto where they believe those, so beside such an
   * Origin those name the service too.
   * @returns null when nothing must
   */
  editRequest(head: RequestHead): Edit[] | null {
    const { bytes } = head;
    const origin = findValue(head, "origin"), referer = findValue(head, "referer");
    if (origin === null && referer === null) return null;
    // A relay puts the host first.
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

  /** The public URL that the request came to, for {@link editResponse}. */
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
   * An answer's head with the public URL in the places of the service's.
   * @param block reason phrase, CRLF, field lines: `block[start, end)`
   * @returns null when it names the service nowhere, as most do
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
    // The first letter tells most fields apart without a look at the rest.
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

/** The public URL of a request. */
export interface PublicBase {
  readonly isSecure: boolean;
  /** Scheme, host and port, without a slash. */
  readonly origin: string;
  /** With its port, in lower case. */
  readonly host: string;
  readonly hostname: string;
}

/** The public origin of `host:port`, when it is one that this machine's other services are known by; else null. */
export type FindOther = (authority: string, base: PublicBase) => string | null;

/** Every name of this machine that a service may call itself by. */
const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

/** Where a field can name the service: what comes before, then the authority of a URL. */
const URL_AUTHORITY = String.raw`(?:https?:)?//([^/?#<>"'\\\s;,]+)`;
const AT_START = new RegExp(`^([ \t]*)${URL_AUTHORITY}`, "i");
const PLACES = {
  location: AT_START,
  "content-location": AT_START,
  "access-control-allow-origin": AT_START,
  // Only the URL that is gone to: one in its query is the service's own affair.
  refresh: new RegExp(`(url[ \t]*=[ \t]*["']?)${URL_AUTHORITY}`, "i"),
  link: new RegExp(`(<)${URL_AUTHORITY}`, "gi"),
};
const COOKIE_DOMAIN = /(;[ \t]*domain[ \t]*=[ \t]*\.?)([^;\s]+)/i;
type FieldName = keyof typeof PLACES | "set-cookie";

/** The fields by the code of their first letter. */
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

/** Where the value of the last field of that name lies. */
function findValue(head: RequestHead, name: string): ValueAt | null {
  const field = head.find(name);
  return field < 0 ? null : readValue(head, field);
}

/** Where the value of the field line with that number lies. */
export function readValue(head: RequestHead, field: number): ValueAt {
  const end = head.valueEnd(field), start = skipSpace(head.bytes, head.nameEnd(field) + 1, end);
  return { start, end: trimSpace(head.bytes, start, end) };
}

/** Offset behind the line's LF. */
function lineEnd(block: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && block[at] !== LF) at++;
  return at + 1;
}

const SCHEMES = ["https://", "http://"];

/** Offset behind scheme and host of a URL that names the public host, or -1 when it names another. */
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

/** A copy of `block[start, end)` with edits, which come in order. */
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

/** What of a visitor's head the service sees changed. */
export interface RequestHeadWriterOptions {
  /** The Host that the service sees, or null for the visitor's own. */
  hostHeader: string | null;
  /** What else must agree with it. */
  addresses: Addresses | null;
}

/** Rewrites the few lines of a request's head that change on the way to the local service; the rest stays as it is. */
export class RequestHeadWriter {
  readonly #hostLine: Uint8Array | null;
  readonly #addresses: Addresses | null;

  constructor({ hostHeader, addresses }: RequestHeadWriterOptions) {
    this.#hostLine = hostHeader === null ? null : ENCODER.encode(`host: ${hostHeader}\r\n`);
    this.#addresses = addresses;
  }

  /**
   * @param scratch memory for the head, used when it is large enough; it must not change until it has been sent
   * @param more values that change besides; of others than those that must agree with the Host
   */
  write(request: WrittenRequest, scratch: Uint8Array | null, more: readonly Edit[] = NO_EDITS): Uint8Array {
    const { bytes, start, end, fieldsStart } = request.head;
    const edits = this.#addresses?.editRequest(request.head) ?? NO_EDITS;
    if (edits.length > 0 || more.length > 0) return this.#writeEdited(request, edits, more);
    const added = addedLine(request);
    const hostLine = this.#hostLine, hostEnd = hostLineEnd(request.head);
    const hostSize = hostLine === null ? hostEnd - fieldsStart : hostLine.length;
    // The blank line at the end goes behind the added line.
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

/** Offset behind the `host` line, which is the first one. */
function hostLineEnd(head: RequestHead): number {
  return head.valueEnd(0) + 2;
}

const NOTHING = new Uint8Array(0);
const NO_EDITS: readonly Edit[] = [];
const CHUNKED = ENCODER.encode("transfer-encoding: chunked\r\n");

/** A body without a length travels in chunks. */
function addedLine({ bodyless, upgrade, head }: WrittenRequest): Uint8Array {
  return bodyless || upgrade || head.hasLength || head.framing === "chunked" ? NOTHING : CHUNKED;
}
