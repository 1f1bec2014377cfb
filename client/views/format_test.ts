import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { decodeShown } from "./capture_body.ts";
import { formatBody } from "./format_body.ts";
import { formatCapture } from "./format_capture.ts";
import type { CaptureRecord } from "./records.ts";

const bytes = (text: string) => Uint8Array.from(Buffer.from(text));
const whole = (text: string) => ({ bytes: bytes(text), isWhole: true, size: bytes(text).length });

const CAPTURE: CaptureRecord = {
  id: "7",
  cursor: 7,
  receivedAt: "2026-01-31T12:00:00.000Z",
  method: "POST",
  host: "example.com",
  path: "/req/0123/orders",
  query: "n=1",
  httpVersion: "1.1",
  headers: [["Host", "example.com"], ["X-Name", Buffer.from("é").toString("latin1")], ["X-Raw", "\xff"]],
  address: "192.0.2.1",
  bodySize: 7,
  contentType: "application/json",
  body: null,
};

Deno.test("a capture is shown with its time, details, headers and payload", () => {
  const lines = formatCapture(CAPTURE, whole('{"a":1}'), { color: false, columns: 30 });
  match(lines[0], /^─{10} \d\d:\d\d:\d\d ─{10}$/);
  deepEqual(lines.slice(1), [
    "Request Details",
    "  Host     example.com",
    "  Method   POST",
    "  Path     /orders?n=1",
    "  From     192.0.2.1",
    "  Capture  7",
    "",
    "Request Headers",
    "  Host    example.com",
    "  X-Name  é",
    "  X-Raw   \xff",
    "",
    "Body Payload",
    "{",
    '  "a": 1',
    "}",
    "",
  ]);
});

Deno.test("nothing of a capture can steer the terminal", () => {
  const evil = "\x1b]0;x\x07\x9b2J\u202e\r\n";
  const capture = { ...CAPTURE, method: "GET", path: `/req/1/${evil}`, headers: [["X", evil]] as [string, string][] };
  for (const type of ["application/json", "application/x-www-form-urlencoded", "application/xml", null]) {
    const text = formatCapture({ ...capture, contentType: type }, whole(`<a>${evil}</a>`), {
      color: false,
      columns: 80,
    })
      .join("\n");
    // deno-lint-ignore no-control-regex -- what must not be there
    equal(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/.test(text), false);
  }
});

Deno.test("bodies are shown by what they are", () => {
  const show = (text: string, type: string | null) => formatBody(whole(text), type);
  deepEqual(show("a=1&b=%20x", "application/x-www-form-urlencoded"), ["a = 1", "b =  x"]);
  deepEqual(show("<a><b>1</b></a>", "text/xml"), ["<a>", "  <b>1</b>", "</a>"]);
  deepEqual(show("one\r\ntwo\n", "text/plain"), ["one", "two"]);
  deepEqual(show("\0\x01", null), ["00000000  00 01                                             .."]);
  deepEqual(show("", null), []);
  const form = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\n' +
    'Content-Disposition: form-data; name="f"; filename="x.png"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n';
  deepEqual(show(form, "multipart/form-data; boundary=b"), ["a = 1", 'f: file "x.png", image/png, 3 B']);
});

Deno.test("a long body is cut, and says how long it is", () => {
  const lines = formatBody({ bytes: new Uint8Array(300_000), isWhole: false, size: 10_000_000 }, null);
  equal(lines.length, 17);
  equal(lines.at(-1), "… 10.0 MB in all");
  const text = formatBody(whole("x\n".repeat(1000)), null);
  deepEqual([text.length, text.at(-1)], [401, "…"]);
  equal(formatBody(whole("x".repeat(5000)), null)[0].length, 2001);
});

Deno.test("a body is shown without its encoding, as far as that can be undone", async () => {
  const show = async (encoding: string, coded: Uint8Array, isWhole = true) => {
    const body = { bytes: Uint8Array.from(coded), isWhole, size: isWhole ? coded.length : 10_000_000 };
    const headers: [string, string][] = [["content-ENCODING", encoding]];
    const decoded = await decodeShown(body, headers);
    const lines = formatCapture({ ...CAPTURE, headers }, decoded, { color: false, columns: 30 });
    return lines.slice(lines.findIndex((line) => line.startsWith("Body Payload")), -1);
  };
  const json = '{"a":"é"}';
  deepEqual(await show("br", brotliCompressSync(json)), ["Body Payload (decoded from br)", "{", '  "a": "é"', "}"]);
  equal((await show("gzip, br", brotliCompressSync(gzipSync(json))))[0], "Body Payload (decoded from gzip, br)");
  deepEqual((await show("compress", Uint8Array.of(31, 157, 0)))[0], "Body Payload");
  match((await show("br", bytes("no such thing")))[1], /^no such thing/);
  const long = gzipSync("x\n".repeat(300_000));
  for (const lines of [await show("gzip", long), await show("gzip", long.subarray(0, long.length - 20), false)]) {
    deepEqual([lines[0], lines[1], lines.at(-1)], ["Body Payload (decoded from gzip)", "x", "… and more"]);
  }
});
