/** Random and broken requests, compared with a slow and simple parser. For tests and for `deno task fuzz`. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { type BodyReading, readChunked, readRequest, type RequestReading } from "./_reference_request.ts";
import { createChunkedDecoder } from "./chunked.ts";
import { decodeLatin1, encodeLatin1 } from "./field_lines.ts";
import { RequestHead, RequestSyntaxError } from "./request_head.ts";
import { ResponseSyntaxError } from "./response_head.ts";
import { dropForbiddenTrailers } from "./trailer_fields.ts";

/** Field lines in a head. */
export const MOST_FIELDS = 250;
/** One parser for all heads, as on a connection: no state of a head may appear in the next. */
export const head: RequestHead = new RequestHead();

/** Parses a head at some offset in a buffer. */
export function parse(text: string, maxFields = MOST_FIELDS): RequestReading | null {
  const bytes = encodeLatin1(`....${text}`);
  if (!head.parse(bytes, 4, bytes.length, maxFields)) return null;
  return readingOf(head);
}

function readingOf(head: RequestHead): RequestReading {
  const fields = Array.from(
    { length: head.fieldCount },
    (_, field): [string, string] => [head.name(field), head.value(field)],
  );
  const { method, path, host, minorVersion, framing, length, expectation, close, keepAlive } = head;
  const upgrade = head.upgrade ? head.value(head.upgradeField) : null;
  return { method, path, host, minorVersion, fields, framing, length, expectation, close, keepAlive, upgrade };
}

/** Hosts that a strict parser accepts. */
export const hosts = [
  "a",
  "a.b-c.test:65535",
  "127.0.0.1",
  "[2001:db8::1]",
  "xn--bcher-kva.test",
  "a_b",
  "a%20b",
  "A.B",
];

const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
/** Text from bytes that a value can contain. */
const value = fc.array(fc.integer({ min: 0x20, max: 0xff }).filter((byte) => byte !== 0x7f), { maxLength: 20 })
  .map((bytes) => String.fromCharCode(...bytes).trim().replace(/^[\xa0]+|[\xa0]+$/g, ""));
const path = fc.array(fc.integer({ min: 0x21, max: 0xff }).filter((byte) => byte !== 0x7f), { maxLength: 20 })
  .map((bytes) => `/${String.fromCharCode(...bytes)}`);
const host = fc.constantFrom(...hosts);
const space = fc.constantFrom("", " ", "\t", "  \t ");
/** Names with a meaning for the parser are added separately. */
const SPECIAL = new Set(["host", "expect", "upgrade", "connection", "content-length", "transfer-encoding"]);
const plainField = fc.tuple(token.filter((name) => !SPECIAL.has(name.toLowerCase())), value);
const connection = fc.constantFrom("close", "Keep-Alive", "upgrade", "Upgrade, x", "x-y, CLOSE", "keep-alive,upgrade");
const framing = fc.oneof(
  fc.constant(null),
  fc.nat().map((length): [string, string] => ["Content-Length", String(length)]),
  fc.constantFrom<[string, string]>(["Transfer-Encoding", "chunked"], ["transfer-encoding", "CHUNKED"]),
);

/** Parts of a request. */
export interface Made {
  method: string;
  path: string;
  /** For an absolute-form target. */
  authority: string | null;
  host: string;
  fields: [string, string][];
  connection: string | null;
  expect: string | null;
  upgrade: string | null;
  /** The field that frames the body. */
  framing: [string, string] | null;
  /** Positions for fields with a meaning. */
  at: number;
  space: string;
}

/** Random requests. */
export const request: fc.Arbitrary<Made> = fc.record({
  method: token.filter((method) => method !== "CONNECT"),
  path,
  authority: fc.option(host),
  host,
  fields: fc.array(plainField, { maxLength: 8 }),
  connection: fc.option(connection),
  expect: fc.option(fc.constantFrom("100-continue", "other")),
  upgrade: fc.option(fc.constantFrom("websocket", "chat/1, x", "h2c", "")),
  framing,
  at: fc.nat(),
  space,
});

/** The fields in order, with the special ones among the others. */
export function madeFields({ fields, host, connection, expect, upgrade, framing, at }: Made): [string, string][] {
  const special: [string, string][] = [["hOst", host]];
  if (connection !== null) special.push(["Connection", connection]);
  if (expect !== null) special.push(["Expect", expect]);
  if (upgrade !== null) special.push(["upgrade", upgrade]);
  if (framing !== null) special.push(framing);
  const all: [string, string][] = [...fields];
  for (const [index, field] of special.entries()) all.splice((at + 7 * index) % (all.length + 1), 0, field);
  return all;
}

/** Returns a request head. */
export function write(made: Made): string {
  const lines = madeFields(made).map(([name, value]) => `${name}:${made.space}${value}${made.space}\r\n`);
  const target = made.authority === null ? made.path : `http://${made.authority}${made.path}`;
  return `${made.method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Text that confuses parsers. */
const NASTY = [
  ..."\0\t\n\r :,;/?#*@%xX5+-\"'()\x7f\x80\xff",
  "\r\n",
  "\r\n\r\n",
  "\n\n",
  "\r\n ",
  "GET / HTTP/1.1\r\n",
  "GET ",
  " HTTP/1.0",
  " HTTP/1.1\r\n",
  "Host: b\r\n",
  "host:",
  "Content-Length: 5\r\n",
  "content_length: 5\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding : chunked\r\n",
  "http://b",
  "Connection: close\r\n",
  "Upgrade: h2c\r\n",
];

/** Edits a text: inserts, replaces, removes or doubles a part. */
export function mutations(): fc.Arbitrary<(text: string) => string> {
  const edit = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 6 }), fc.oneof(fc.constantFrom(...NASTY), fc.constant("")));
  return fc.tuple(fc.array(edit, { minLength: 1, maxLength: 3 }), fc.boolean()).map(([edits, doubles]) => (text) => {
    for (const [where, length, put] of edits) {
      const at = where % (text.length + 1);
      const left = doubles ? text.slice(at, at + length * 4) : "";
      text = text.slice(0, at) + put + left + text.slice(at + length);
    }
    return text;
  });
}

/** Only text that confuses parsers. */
export const soup: fc.Arbitrary<string> = fc.array(fc.constantFrom(...NASTY), { maxLength: 30 })
  .map((parts) => parts.join(""));

/** Reports whether the fast and the slow parser agree on the beginning of `text`. */
export function assertAsReference(text: string): void {
  let reading: RequestReading | "refused" | null;
  try {
    reading = parse(text);
  } catch (error) {
    ok(error instanceof RequestSyntaxError, String(error));
    reading = "refused";
  }
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return void ok(reading === null || reading === "refused", "a head without end was taken");
  const expected = readRequest(text.slice(0, end + 4), MOST_FIELDS);
  deepEqual(reading, expected ?? "refused", JSON.stringify(text));
  if (expected !== null) equal(head.end - head.start, end + 4);
}

const chunk = fc.record({
  data: fc.string({ maxLength: 40, unit: fc.constantFrom("a", "\r", "\n", "0", "\0", "\xff") }),
  zeros: fc.constantFrom("", "0", "000"),
  extension: fc.constantFrom("", "", ";", ";a=b", ";\t\xff", ";;"),
  capitals: fc.boolean(),
});

/** Complete chunked bodies. */
export const chunkedBody: fc.Arbitrary<string> = fc.tuple(
  fc.array(chunk, { maxLength: 6 }),
  fc.array(plainField, { maxLength: 3 }),
).map(([chunks, trailers]) => {
  const parts = chunks.filter(({ data }) => data !== "").map(({ data, zeros, extension, capitals }) => {
    const size = data.length.toString(16);
    return `${zeros}${capitals ? size.toUpperCase() : size}${extension}\r\n${data}\r\n`;
  });
  return `${parts.join("")}0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
});

/** Sizes for the parts of an input; the rest is one part. */
export const pieceSizes: fc.Arbitrary<number[]> = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 });

/** Splits a text into parts. */
export function* cut(text: string, sizes: readonly number[]): Generator<string> {
  let at = 0;
  for (const size of sizes) {
    if (at >= text.length) return;
    yield text.slice(at, at += size);
  }
  if (at < text.length) yield text.slice(at);
}

/** Reports whether the chunked decoder and the slow parser agree on a text, for any split. */
export function assertChunkedAsReference(text: string, sizes: readonly number[]): void {
  const decoder = createChunkedDecoder();
  let data = "", taken = 0, reading: BodyReading | "short" | null = "short";
  try {
    for (const piece of cut(text, sizes)) {
      const bytes = encodeLatin1(piece);
      taken += decoder.push(bytes, (part) => data += decodeLatin1(part, 0, part.length));
      if (decoder.done) break;
    }
    const { trailers } = decoder;
    if (decoder.done) reading = { data, trailers: decodeLatin1(trailers, 0, trailers.length), taken };
  } catch (error) {
    ok(error instanceof ResponseSyntaxError, String(error));
    reading = null;
  }
  const expected = readChunked(text);
  if (typeof expected === "object" && expected !== null) {
    const kept = dropForbiddenTrailers(encodeLatin1(expected.trailers));
    expected.trailers = decodeLatin1(kept, 0, kept.length);
  }
  deepEqual(reading, expected, JSON.stringify(text));
}

/** Input for a connection: requests with bodies, sometimes a broken one. */
export const connectionText: fc.Arbitrary<string> = fc.array(
  fc.tuple(request, chunkedBody, fc.option(mutations(), { freq: 3 })).map(([made, chunks, mutate]) => {
    const [, value] = made.framing ?? [];
    const length = /^\d+$/.test(value ?? "") ? Number(value) % 300 : 0;
    const framing: [string, string] | null = value !== undefined && /^\d+$/.test(value)
      ? ["Content-Length", String(length)]
      : made.framing;
    const body = framing === null ? "" : length > 0 || framing[0] === "Content-Length" ? "b".repeat(length) : chunks;
    const text = write({ ...made, framing }) + body;
    return mutate === null ? text : mutate(text);
  }),
  { minLength: 1, maxLength: 4 },
).map((texts) => texts.join(""));
