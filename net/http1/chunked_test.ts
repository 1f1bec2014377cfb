import assert from "node:assert/strict";
import fc from "fast-check";
import { assertChunkedAsReference, chunkedBody, mutations, pieceSizes, soup } from "./_fuzz.ts";
import { createChunkedDecoder, MAX_CHUNK_LINE, MAX_TRAILERS } from "./chunked.ts";
import { ResponseSyntaxError } from "./response_head.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

/** What becomes of a coded body that arrives in `pieces`: its data, the bytes taken, or the error's message. */
interface Outcome {
  data: number[];
  taken: number;
  done: boolean;
  error?: string;
}

function decode(pieces: Iterable<Uint8Array>): Outcome {
  const decoder = createChunkedDecoder();
  const outcome: Outcome = { data: [], taken: 0, done: false };
  try {
    for (const piece of pieces) {
      const taken = decoder.push(piece, (data) => {
        assert(data.length > 0, "no empty data is handed on");
        assert.equal(data.buffer, piece.buffer, "data is part of what came");
        outcome.data.push(...data);
      });
      outcome.taken += taken;
      assert(taken === piece.length || decoder.done, "all is taken until the end");
    }
  } catch (error) {
    assert(error instanceof ResponseSyntaxError, String(error));
    outcome.error = error.message;
  }
  return { ...outcome, done: decoder.done };
}

const decodeText = (text: string) => decode([latin1(text)]);
const split = (bytes: Uint8Array, at: number) => [bytes.subarray(0, at), bytes.subarray(at)];
const bytewise = (bytes: Uint8Array) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));

/** Bodies with what they hold and how many bytes after them are not theirs. */
const ACCEPTED: [what: string, coded: string, data: string, rest?: number][] = [
  ["no data", "0\r\n\r\n", ""],
  ["one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"],
  ["several chunks", "5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n", "hello world"],
  ["capital and small digits", "A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a"],
  ["zeros before the size", "0005\r\nhello\r\n000\r\n\r\n", "hello"],
  ["CR and LF as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"],
  ["what looks like an end as data", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"],
  ["extensions", '5;a\r\nhello\r\n1;b=c;d="e f\t\xe9"\r\n!\r\n0;last\r\n\r\n', "hello!"],
  ["trailers", "1\r\nx\r\n0\r\nDigest: abc=\r\nX-Empty:\r\nX: \xe9\t\r\n\r\n", "x"],
  ["garbage after the body", "1\r\nx\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n", "x", 17],
  ["a blank line after the body", "0\r\n\r\n\r\n", "", 2],
];

for (const [what, coded, data, rest = 0] of ACCEPTED) {
  Deno.test(`createChunkedDecoder takes ${what}, split anywhere`, () => {
    const bytes = latin1(coded);
    const expected = { data: [...latin1(data)], taken: bytes.length - rest, done: true };
    assert.deepEqual(decode([bytes]), expected);
    assert.deepEqual(decode(bytewise(bytes)), expected);
    for (let at = 0; at <= bytes.length; at++) assert.deepEqual(decode(split(bytes, at)), expected);
  });
}

const REFUSED: [what: string, coded: string, why: RegExp][] = [
  ["no size", "\r\nhello", /0x0d in the size/],
  ["an extension without size", ";a=b\r\n", /";" in the size/],
  ["a prefix", "0x5\r\nhello\r\n", /"x" in the size/],
  ["a sign", "+5\r\nhello\r\n", /"\+" in the size/],
  ["a negative size", "-5\r\nhello\r\n", /"-" in the size/],
  ["a space before the size", " 5\r\nhello\r\n", /a space in the size/],
  ["a space after the size", "5 \r\nhello\r\n", /a space in the size/],
  ["a letter beyond f", "g\r\n", /"g" in the size/],
  ["a byte that differs from a digit by one bit", "5\x41\x01\r\n", /0x01 in the size/],
  ["a size with LF alone", "5\nhello\r\n", /LF in the size/],
  ["a size with CR alone", "5\rhello", /"h" after the size/],
  ["a size above 2^53-1", "20000000000000\r\n", /2\^53-1/],
  ["a size that would overflow to a small one", "10000000000000000000000000000005\r\nhello", /2\^53-1/],
  ["an extension with LF alone", "5;a\nhello\r\n", /LF in the extension/],
  ["an extension with CR alone", "5;a\rb\r\nhello\r\n", /"b" after the size/],
  ["NUL in an extension", "5;\0\r\n", /0x00 in the extension/],
  ["data longer than its size", "5\r\nhello!\r\n", /"!" after the data/],
  ["data shorter than its size", "7\r\nhello\r\n0\r\n\r\n", /"0" after the data/],
  ["data that ends with LF alone", "5\r\nhello\n0\r\n", /LF after the data/],
  ["data that ends with CR alone", "5\r\nhello\r0\r\n", /"0" after the data/],
  ["a trailer that folds", "0\r\nX-A: b\r\n c\r\n\r\n", /starts with a space/],
  ["a trailer without name", "0\r\n: b\r\n\r\n", /starts with ":"/],
  ["a trailer without colon", "0\r\nhello\r\n\r\n", /0x0d in the name/],
  ["a trailer with space before the colon", "0\r\nX-A : b\r\n\r\n", /a space in the name/],
  ["a trailer with LF alone", "0\r\nX-A: b\n\r\n", /LF in the value/],
  ["a trailer with CR alone", "0\r\nX-A: b\rc\r\n\r\n", /"c" after a trailer/],
  ["NUL in a trailer", "0\r\nX-A: \0\r\n\r\n", /0x00 in the value/],
  ["an end with LF alone", "0\r\n\n", /starts with a bare LF/],
  ["an end with CR alone", "0\r\n\rX", /"X" after a trailer/],
  ["a plain body", "hello", /"h" in the size/],
];

for (const [what, coded, why] of REFUSED) {
  Deno.test(`createChunkedDecoder refuses ${what}, split anywhere`, () => {
    const bytes = latin1(coded);
    const whole = decode([bytes]);
    assert.match(whole.error ?? "no error", why);
    const splits = [bytewise(bytes), ...Array.from(bytes, (_, at) => split(bytes, at))];
    for (const pieces of splits) {
      const outcome = decode(pieces);
      assert.equal(outcome.error, whole.error);
      assert.deepEqual(outcome.data, whole.data);
    }
  });
}

Deno.test("createChunkedDecoder is not done with a body that ends early, wherever that is", () => {
  const bytes = latin1("5;a\r\nhello\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n");
  for (let end = 0; end < bytes.length; end++) {
    const outcome = decode([bytes.subarray(0, end)]);
    assert.equal(outcome.error, undefined);
    assert.equal(outcome.done, false);
    assert.equal(outcome.taken, end);
  }
});

Deno.test("createChunkedDecoder takes nothing more once it is done", () => {
  const decoder = createChunkedDecoder();
  const unexpected = () => assert.fail("there is no data");
  assert.equal(decoder.push(latin1("0\r\n\r\n"), unexpected), 5);
  assert.equal(decoder.push(latin1("5\r\nhello\r\n"), unexpected), 0);
});

Deno.test("createChunkedDecoder bounds the line of a size and the trailers", () => {
  const extension = ";" + "e".repeat(MAX_CHUNK_LINE - 1);
  assert.equal(decodeText(`1${extension}\r\nx\r\n0${extension}\r\n\r\n`).done, true);
  assert.match(decodeText(`1${extension}e`).error ?? "", /longer than 4096/);
  assert.match(decodeText("0".repeat(MAX_CHUNK_LINE + 1)).error ?? "", /longer than 4096/);

  const value = "v".repeat(MAX_TRAILERS - "X:\r\n\r\n".length);
  assert.equal(decodeText(`0\r\nX:${value}\r\n\r\n`).done, true);
  assert.match(decodeText(`0\r\nX:${value}v\r\n\r\n`).error ?? "", /trailer section is longer than 16384/);
  assert.match(decodeText("0\r\n" + "a:\r\n".repeat(MAX_TRAILERS)).error ?? "", /trailer section is longer/);
});

Deno.test("createChunkedDecoder gives back what was coded, however it is coded and split", () => {
  const chunk = fc.uint8Array({ minLength: 1, maxLength: 40 });
  const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 });
  fc.assert(fc.property(fc.array(chunk, { maxLength: 8 }), sizes, fc.boolean(), (chunks, sizes, fancy) => {
    const coded = chunks.flatMap((chunk) => [
      ...latin1(chunk.length.toString(16) + (fancy ? ";x=y" : "") + "\r\n"),
      ...chunk,
      13,
      10,
    ]);
    const bytes = Uint8Array.from([...coded, ...latin1(fancy ? "0\r\nX: y\r\n\r\n" : "0\r\n\r\n")]);
    const pieces = cut(bytes, sizes);
    const expected = { data: chunks.flatMap((chunk) => [...chunk]), taken: bytes.length, done: true };
    assert.deepEqual(decode(pieces), expected);
  }));
});

/** `bytes` in pieces whose sizes go round and round through `sizes`. */
function cut(bytes: Uint8Array, sizes: number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length];
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

Deno.test("createChunkedDecoder gives random bytes the same result or ResponseSyntaxError, however they are split", () => {
  const piece = fc.oneof(
    fc.constantFrom("\r\n", "0\r\n\r\n", "5\r\nhello\r\n", "1", "a", "F", ";x", "X: y", "\r", "\n", " ", "\0"),
    fc.string({ maxLength: 5 }),
  );
  const coded = fc.oneof(fc.uint8Array(), fc.array(piece).map((list) => latin1(list.join(""))));
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  fc.assert(
    fc.property(coded, sizes, (bytes, sizes) => {
      const [whole, split] = [decode([bytes]), decode(cut(bytes, sizes))];
      assert.deepEqual([split.data, split.error, split.done], [whole.data, whole.error, whole.done]);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("ChunkedDecoder gives the trailers as they came, wherever they are cut", () => {
  const trailers = "X-Sum: 1a \r\ny:\xe9\r\n";
  const bytes = Uint8Array.from(`2\r\nhi\r\n0\r\n${trailers}\r\n`, (char) => char.charCodeAt(0));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = createChunkedDecoder();
    decoder.push(bytes.subarray(0, cut), () => {});
    decoder.push(bytes.subarray(cut), () => {});
    assert.equal(decoder.done, true);
    assert.equal(String.fromCharCode(...decoder.trailers), trailers);
  }
});

Deno.test("random, broken and cut bodies are read as a slow reader reads them, in whatever pieces they come", () => {
  const broken = fc.tuple(chunkedBody, mutations()).map(([text, mutate]) => mutate(text));
  fc.assert(fc.property(fc.oneof(chunkedBody, broken, soup), pieceSizes, assertChunkedAsReference), { numRuns: 5_000 });
});

Deno.test("ChunkedDecoder drops trailers that would change the request after its check", () => {
  const decoder = createChunkedDecoder();
  const text = "0\r\nHost: b\r\nX-Sum: 1\r\nTransfer-Encoding: chunked\r\nAuthorization: x\r\n\r\n";
  decoder.push(Uint8Array.from(text, (char) => char.charCodeAt(0)), () => {});
  assert.equal(String.fromCharCode(...decoder.trailers), "X-Sum: 1\r\n");
});
