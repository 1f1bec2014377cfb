import { deepEqual, equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { toCurl, toHar, toJsonLines } from "./capture_export.js";
import { guessPreset, verifySignature } from "./capture_signature.js";
import { formatBodySize, matches, queryOf, shownPath } from "./capture_text.js";
import type { OpenedCaptureJson } from "../../../../common/captures/capture_json.ts";
import { visibleRows } from "./capture_window.js";

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
const bytes = (text: string) => new TextEncoder().encode(text);

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
  deepEqual([0, 999, 1234, 56_789, 5_000_000].map(formatBodySize), ["0 B", "999 B", "1.2 kB", "57 kB", "5.0 MB"]);
});

Deno.test("a command of curl sends the same again, and nothing in it is a command of its own", () => {
  equal(
    toCurl(CAPTURE, "http://h/req/0123", bytes("it's; rm -rf")),
    `curl 'http://h/req/0123/orders/%E9?n=1&m=it'\\''s' \\\n  -X 'POST' \\\n  -H 'X-Note: Grüße' \\\n  -H 'X-Empty;' \\\n` +
      `  --data-binary 'it'\\''s; rm -rf'`,
  );
  equal(
    toCurl(CAPTURE, "http://h/req/0123", Uint8Array.of(0, 255)).endsWith("--data-binary @<(printf '\\000\\377')"),
    true,
  );
  equal(toCurl(CAPTURE, "http://h/req/0123", bytes("@/etc/passwd")).includes("@/etc"), false);
  equal(toCurl(CAPTURE, "http://h/req/0123", null).endsWith("--data-binary '@capture-7'"), true);
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
  deepEqual(log.entries[0].request.headers[1], { name: "X-Note", value: "Grüße" });
  deepEqual(toJsonLines([CAPTURE, binary]).trim().split("\n").map((line) => JSON.parse(line)), [CAPTURE, binary]);
});

Deno.test("signatures of GitHub, Stripe and Slack are told from wrong ones", async () => {
  const body = bytes('{"zen":"é"}'), time = "1700000000";
  const sign = (text: string) => createHmac("sha256", "s3cret").update(text).update(body).digest("hex");
  const signed: Record<string, [string, string][]> = {
    GitHub: [["X-Hub-Signature-256", `sha256=${sign("")}`]],
    Stripe: [["Stripe-Signature", `t=${time},v1=${"0".repeat(64)},v1=${sign(`${time}.`)},v0=x`]],
    Slack: [["X-Slack-Request-Timestamp", time], ["X-Slack-Signature", `v0=${sign(`v0:${time}:`)}`]],
  };
  for (const [preset, headers] of Object.entries(signed)) {
    const capture = { ...CAPTURE, headers };
    equal(guessPreset(capture), preset);
    equal(await verifySignature(preset, "s3cret", capture, body), "valid");
    equal(await verifySignature(preset, "other", capture, body), "invalid");
    equal(await verifySignature(preset, "s3cret", capture, bytes("{}")), "invalid");
    equal(await verifySignature(preset, "s3cret", CAPTURE, body), "unsigned");
  }
  equal(guessPreset(CAPTURE), null);
});

Deno.test("of a long list only what is visible is there", () => {
  deepEqual(visibleRows(0, 500, 50, 10_000), { first: 0, end: 18 });
  deepEqual(visibleRows(250_000, 500, 50, 10_000), { first: 4992, end: 5018 });
  deepEqual(visibleRows(1e9, 500, 50, 10), { first: 2, end: 10 });
  deepEqual(visibleRows(0, 500, 50, 0), { first: 0, end: 0 });
});
