/**
 * The grammar for links to the local host in every spelling that a response may use: `http://localhost:3000`,
 * `ws://127.0.0.1:3000`, `//[::1]:3000`, and the same inside JSON, HTML attributes and query strings, where `:` and `/`
 * are escaped. A text has one character per byte; case is ignored.
 */

/** `\x2f` and similar escapes with several backslashes, because text inside text doubles them. */
const escaped = (hex: string) => [`\\\\u00${hex}`, `\\u00${hex}`, `\\\\x${hex}`, `\\x${hex}`];
/** Percent-encoded once or twice, as in a URL inside a URL's query. */
const percent = (hex: string) => [`%${hex}`, `%25${hex}`];

/**
 * All spellings in lower case. A text has only one reading: in a list no entry begins another, except schemes and
 * hosts, where the longer one comes first; an entry that ends with another comes before it.
 */
const COLONS = [":", ...percent("3a"), ...escaped("3a"), "&#x3a;", "&#58;"];
const SLASHES = ["\\\\\\/", "\\\\/", "\\/", "/", ...percent("2f"), ...escaped("2f"), "&#x2f;", "&#47;"];
const SCHEMES = ["https", "http", "wss", "ws"];
const LOCAL_HOSTS = [
  "localhost",
  "127.0.0.1",
  "0.0.0.0",
  "[::1]",
  "%5b::1%5d",
  "%5b%3a%3a1%5d",
  "%255b%253a%253a1%255d",
];
const MAX_DIGITS = 5;
/** Characters after a link that decide whether it ends there. */
const LOOK_AHEAD = 3;
/** Characters before a link that decide whether it begins there: `%2522`, `\u0022`. */
export const LOOK_BEHIND = 6;

/** A link up to its host and port in a text: `text[start, end)`. */
export interface Link {
  readonly start: number;
  readonly end: number;
  /** Lower case; "" if the page decides: `//localhost:3000`, or code: `scheme + "://localhost:3000"`. */
  readonly scheme: string;
  readonly hostStart: number;
  /** Lower case, as spelled. */
  readonly host: string;
  readonly port: number | null;
  /** The colon's spelling. */
  readonly colon: string;
}

/** The text ends before the decision whether there is a link. */
const CUT = -1;

/** Finds links to the local host and to a service's own names. */
export class LinkGrammar {
  /** Matches every possible position for a link's host: one character, which ends a slash, and the host. */
  readonly anchor: RegExp;
  /** Length of the longest link with the characters after it. */
  readonly maxLength: number;
  readonly #hosts: readonly string[];

  /** @param ownHosts lower-case names beside those for the local host */
  constructor(ownHosts: readonly string[] = []) {
    this.#hosts = [...LOCAL_HOSTS, ...ownHosts].sort((one, other) => other.length - one.length);
    // The first character is rare in most texts, so the search reaches gigabytes per second.
    this.anchor = new RegExp(`[/f;](?:${this.#hosts.map(quoteRegExp).join("|")})`, "gi");
    this.maxLength = [SCHEMES, COLONS, SLASHES, SLASHES, this.#hosts, COLONS].map(longest)
      .reduce((sum, length) => sum + length, MAX_DIGITS + LOOK_AHEAD);
  }

  /**
   * Returns the link with the host `text[hostStart, hostEnd)` that an {@link anchor} found; null if it is no link,
   * leads elsewhere, or begins before `from`.
   * @param isFinal whether no more text follows; otherwise a link at its end is incomplete
   */
  read(text: string, from: number, hostStart: number, hostEnd: number, isFinal: boolean): Link | null {
    const second = spellingBefore(text, hostStart, SLASHES), secondAt = hostStart - second.length;
    const first = spellingBefore(text, secondAt, SLASHES), firstAt = secondAt - first.length;
    if (second === "" || first === "") return null;
    const colon = spellingBefore(text, firstAt, COLONS), colonAt = firstAt - colon.length;
    const scheme = colon === "" ? "" : spellingBefore(text, colonAt, SCHEMES).toLowerCase();
    const start = colonAt - scheme.length;
    if (start < from || !mayBegin(text, start, scheme !== "", colon !== "")) return null;
    const port = readPort(text, hostEnd, isFinal);
    if (port === null || port === CUT || !endsThere(text, port.end, isFinal)) return null;
    return {
      start,
      end: port.end,
      scheme,
      hostStart,
      host: text.slice(hostStart, hostEnd).toLowerCase(),
      port: port.number,
      colon: port.colon || colon || colonLike(second),
    };
  }

  /** Whether the text ends inside a possible link that begins at `at`. */
  isCut(text: string, at: number): boolean {
    const scheme = tryRead(text, at, SCHEMES);
    if (scheme !== null && !mayBegin(text, at, true, true)) return false;
    let next = at + (scheme ?? 0);
    if (scheme === CUT) return true;
    const colon = tryRead(text, next, COLONS);
    if (scheme === null && !mayBegin(text, at, false, colon !== null)) return false;
    if (colon === CUT) return true;
    if (colon === null && scheme !== null) return false;
    next += colon ?? 0;
    for (const spellings of [SLASHES, SLASHES, this.#hosts]) {
      const read = tryRead(text, next, spellings);
      if (read === null || read === CUT) return read === CUT;
      next += read;
    }
    const port = readPort(text, next, false);
    return port === CUT || (port !== null && endsThere(text, port.end, false) === null);
  }
}

/** Whether a host names the local host, and not a service. */
export function isLocalHost(host: string): boolean {
  return LOCAL_HOSTS.includes(host);
}

const longest = (spellings: readonly string[]) => Math.max(...spellings.map(({ length }) => length));
const quoteRegExp = (text: string) => text.replace(/[.[\]]/g, "\\$&");

const COLON = 0x3a, SLASH = 0x2f, BACKSLASH = 0x5c;

/** Returns the spelling that ends before `end`; "" if there is none. */
function spellingBefore(text: string, end: number, spellings: readonly string[]): string {
  const last = text.charCodeAt(end - 1);
  // Nearly all spellings are plain.
  if (last === COLON) return spellings === COLONS ? ":" : "";
  if (last === SLASH && text.charCodeAt(end - 2) !== BACKSLASH) return spellings === SLASHES ? "/" : "";
  const before = text.slice(Math.max(0, end - LONGEST_SPELLING), end).toLowerCase();
  const found = spellings.find((spelling) => before.endsWith(spelling));
  return found === undefined ? "" : text.slice(end - found.length, end);
}

const LONGEST_SPELLING = longest([...COLONS, ...SLASHES, ...SCHEMES]);

/** Returns the spelling's length at `at`, CUT if the text ends inside one, or null. */
function tryRead(text: string, at: number, spellings: readonly string[]): number | null {
  // Most characters after a host are no colon.
  if (spellings === COLONS && !MAY_BE_COLON.test(text.charAt(at)) && at < text.length) return null;
  const here = text.slice(at, at + LONGEST_NAME).toLowerCase();
  for (const spelling of spellings) {
    if (here.startsWith(spelling)) return spelling.length;
    if (here.length < spelling.length && spelling.startsWith(here)) return CUT;
  }
  return null;
}

const MAY_BE_COLON = /[:%\\&]/;
/** Longest host name in characters. */
const LONGEST_NAME = 255;

/** Returns the character before a position, decoded from an escape; "" at the beginning. */
function charBefore(text: string, at: number): string {
  const code = text.charCodeAt(at - 1) | 0x20;
  const isHexOrLetter = (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a);
  if (at === 0 || !isHexOrLetter) return text.charAt(at - 1);
  const escape = ESCAPE.exec(text.slice(Math.max(0, at - LOOK_BEHIND), at));
  if (escape === null) return text.charAt(at - 1);
  const [, inPercent, inUnicode, inHex] = escape, hex = inPercent ?? inUnicode ?? inHex;
  return hex === undefined ? " " : String.fromCharCode(parseInt(hex, 16));
}

const ESCAPE = /(?:%(?:25)*([\da-f]{2})|\\u([\da-f]{4})|\\x([\da-f]{2})|\\[bfnrtv])$/i;

function mayBegin(text: string, at: number, hasScheme: boolean, hasColon: boolean): boolean {
  const char = charBefore(text, at);
  return !(hasScheme ? NOT_BEFORE_SCHEME : hasColon ? NOT_BEFORE_COLON : NOT_BEFORE_SLASH).test(char);
}

/** A letter or a plus makes another scheme: `git+http`. */
const NOT_BEFORE_SCHEME = /^[\da-z+]$/i;
/** Characters that can end another scheme, as in `redis://localhost:6379`. */
const NOT_BEFORE_COLON = /^[\da-z+.-]$/i;
/** Characters that can end a scheme or a path, after which two slashes begin no link. */
const NOT_BEFORE_SLASH = /^[\da-z+.\-_~:/\\%@]$/i;

/** Returns the colon's spelling that matches a slash's. */
function colonLike(slash: string): string {
  const colon = slash.replace(/2f/i, (hex) => hex === "2F" ? "3A" : "3a").replace("47", "58");
  return colon.endsWith("/") ? ":" : colon;
}

/** The port after a host with its colon, or neither. */
interface Port {
  readonly end: number;
  readonly number: number | null;
  readonly colon: string;
}

/** Returns the port after a host, CUT, or null for a colon without a port. */
function readPort(text: string, hostEnd: number, isFinal: boolean): Port | typeof CUT | null {
  const colon = text.charCodeAt(hostEnd) === COLON ? 1 : tryRead(text, hostEnd, COLONS);
  if (colon === CUT && !isFinal) return CUT;
  if (colon === null || colon === CUT) return { end: hostEnd, number: null, colon: "" };
  const from = hostEnd + colon;
  let end = from, number = 0;
  for (let code = text.charCodeAt(end); isDigit(code) && end < from + MAX_DIGITS; code = text.charCodeAt(++end)) {
    number = number * 10 + code - 0x30;
  }
  if (end === text.length && !isFinal) return CUT;
  return end === from ? null : { end, number, colon: text.slice(hostEnd, from) };
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/**
 * Whether a link ends there, and does not continue to another host: `localhost:3000.example.com`, `localhost:30001`,
 * `localhost:3000@host`; null if more text is needed.
 */
function endsThere(text: string, end: number, isFinal: boolean): boolean | null {
  const next = text.charAt(end);
  if (next === "") return isFinal ? true : null;
  if (/[\w@-]/.test(next)) return false;
  const needed = next === "." || next === ":" ? 2 : next === "%" ? LOOK_AHEAD : 0;
  if (needed === 0) return true;
  const ahead = text.slice(end, end + needed);
  if (ahead.length < needed && !isFinal) return null;
  return !/^(?:[.:][\w-]|%40)/.test(ahead);
}
