import { formatSize } from "../../../../web/browser/format.js";
import { deepEqual, equal } from "node:assert/strict";
import { toHar, toJsonLines } from "./capture_export.js";
import { describeCount, matches, queryOf, shownPath } from "./capture_text.js";
import type { OpenedCaptureJson } from "../../../../common/captures/capture_json.ts";

const CAPTURE: OpenedCaptureJson = {
  id: "7",
  cursor: 7,
  receivedAt: "2026-01-31T12:00:00.000Z",
  method: "POST",
  host: "example.com",
  path: "/req/0123/orders/\xe9",
  query: "n=1&m=it's",
  httpVersion: "1.1",
  headers: [["Host", "example.com"], ["X-Note", "Gr\xc3\xbc\xc3\x9fe"], ["X-Empty", ""]],
  address: "192.0.2.1",
  bodySize: 9,
  contentType: "application/json",
  body: btoa('{"a":"b"}'),
};
const ANY = { q: "", method: "", path: "", from: "", to: "" };

Deno.test("a capture that comes is shown if it is what is looked for", () => {
  const fits = (filter: Partial<typeof ANY>) => matches(CAPTURE, { ...ANY, ...filter });
  equal(fits({}), true);
  deepEqual([fits({ method: "POST" }), fits({ method: "GET" })], [true, false]);
  deepEqual([fits({ path: "ORDERS" }), fits({ path: "n=1" }), fits({ path: "users" })], [true, true, false]);
  deepEqual([fits({ q: "x-note: grüße" }), fits({ q: '"A":"B"' }), fits({ q: "nothing" })], [true, true, false]);
  deepEqual([fits({ from: CAPTURE.receivedAt }), fits({ to: CAPTURE.receivedAt })], [true, false]);
  equal(queryOf({ ...ANY, q: "a b", method: "GET" }).toString(), "q=a+b&method=GET");
});

Deno.test("what is shown of a target is what is below the view", () => {
  equal(shownPath({ path: "/req/0123", query: null }), "/");
  equal(shownPath({ path: "/req/0123/a", query: "" }), "/a?");
  equal(shownPath({ path: "/req/0123/\xc3\xa9", query: null }), "/é");
  deepEqual([0, 999, 1234, 56_789, 5_000_000].map(formatSize), ["0 B", "999 B", "1.2 kB", "56.8 kB", "5.0 MB"]);
});

Deno.test("captures are exported as HAR and as lines of JSON", () => {
  const binary = { ...CAPTURE, body: btoa("\xff\0") };
  const { log } = JSON.parse(toHar([CAPTURE, binary], "https://example.com/req/0123", "1.0"));
  equal(log.version, "1.2");
  deepEqual(log.entries[0].request.postData, { mimeType: "application/json", text: '{"a":"b"}' });
  deepEqual(log.entries[1].request.postData, {
    mimeType: "application/json",
    text: btoa("\xff\0"),
    encoding: "base64",
  });
  equal(log.entries[0].request.url, "https://example.com/req/0123/orders/%E9?n=1&m=it's");
  const cookies = [["Cookie", "a=1; b=x=y;c"], ["cookie", "d=\xc3\xa9"]] as [string, string][];
  const [entry] =
    JSON.parse(toHar([{ ...CAPTURE, headers: cookies }], "https://example.com/req/0123", "1")).log.entries;
  deepEqual(entry.request.cookies, [
    { name: "a", value: "1" },
    { name: "b", value: "x=y" },
    { name: "", value: "c" },
    { name: "d", value: "é" },
  ]);
  deepEqual(log.entries[0].request.headers[1], { name: "X-Note", value: "Grüße" });
  deepEqual(toJsonLines([CAPTURE, binary]).trim().split("\n").map((line) => JSON.parse(line)), [CAPTURE, binary]);
});

Deno.test("a list says how many calls there are, and of a search how many it shows", () => {
  deepEqual([describeCount(500, 1234, false), describeCount(1, 1, true), describeCount(0, 0, true)], [
    "1234 calls",
    "1 call",
    "0 calls",
  ]);
  deepEqual([describeCount(500, null, false), describeCount(3, null, true)], [
    "The newest 500 that match, more below",
    "3 calls",
  ]);
});
