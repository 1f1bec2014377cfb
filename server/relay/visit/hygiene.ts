import { CONNECTION_FIELDS, type RequestHead } from "../../../common/http1/mod.ts";

/**
 * Fields of a request that only we may set, and others that frameworks take for a proxy's word: what a visitor claims
 * in them has no effect.
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

/** Names that CGI and WSGI, to which "-" and "_" are the same, would take for the length that was checked. */
const MISSPELT = ["content_length"];

/** A power of two. */
const SLOTS = 1024;

/** A test of a field's name, `bytes[start, end)`, letters of either case alike. */
export type NameTest = (bytes: Uint8Array, start: number, end: number) => boolean;

const isOfConnectionOrOurs = createNameTest([...CONNECTION_FIELDS, ...OURS], MISSPELT);
const isOfConnection = createNameTest([...CONNECTION_FIELDS, "portway-error"]);

const OWN_PREFIX = "portway-";

/** Whether a visitor's field stays behind; fields of our own protocol mean nothing from outside. */
export function isDroppedFromRequest(bytes: Uint8Array, start: number, end: number): boolean {
  return isOfConnectionOrOurs(bytes, start, end) ||
    (end - start > OWN_PREFIX.length && isSpelt(bytes, start, start + OWN_PREFIX.length, OWN_PREFIX));
}

/** Whether a local service's field stays behind. */
export const isDroppedFromAnswer: NameTest = isOfConnection;

/**
 * A test for membership by first letter and length, on bytes: hardly a name that browsers send shares both with one of
 * ours, and no text is made.
 * @param names CGI and WSGI know no difference between "-" and "_", so both spellings count
 * @param exact names that count only as they are spelt
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

/** Whether the bytes spell `name`, of which a "-" may also be "_". */
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

/** The fields that a request's Connection lists, in lower case, or null for none but the usual ones. */
export function namedByRequest(head: RequestHead): ReadonlySet<string> | null {
  return head.namesFields ? namedByConnection(head.values("connection") ?? "") : null;
}

/**
 * The names that a Connection field lists, in lower case, or null when there are none but the usual ones. The length is
 * never one of them: a body would lose its end.
 */
export function namedByConnection(value: string): ReadonlySet<string> | null {
  if (/^(?:keep-alive|close|upgrade|keep-alive, *upgrade)$/i.test(value)) return null;
  const names = new Set(value.toLowerCase().split(",").map((name) => name.trim()));
  names.delete("close");
  names.delete("content-length");
  return names;
}
