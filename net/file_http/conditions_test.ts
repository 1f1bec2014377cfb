import { equal } from "node:assert/strict";
import { evaluateConditions, isRangeCurrent } from "./conditions.ts";

const TAG = '"v1"';
const MODIFIED = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const CURRENT = { tag: TAG, modified: MODIFIED };
const AT = "Fri, 02 Jan 2026 03:04:05 GMT";
const BEFORE = "Fri, 02 Jan 2026 03:04:04 GMT";

type Row = [method: string, headers: Record<string, string>, isThere: boolean, verdict: string];

const TABLE: Row[] = [
  ["GET", {}, true, "proceed"],
  ["GET", { "if-none-match": TAG }, true, "not_modified"],
  ["HEAD", { "if-none-match": TAG }, true, "not_modified"],
  ["GET", { "if-none-match": `W/${TAG}` }, true, "not_modified"],
  ["GET", { "if-none-match": '"v0"' }, true, "proceed"],
  ["GET", { "if-none-match": `"v0", ${TAG}` }, true, "not_modified"],
  ["GET", { "if-none-match": "*" }, true, "not_modified"],
  ["GET", { "if-none-match": "v1" }, true, "proceed"],
  ["GET", { "if-modified-since": AT }, true, "not_modified"],
  ["GET", { "if-modified-since": BEFORE }, true, "proceed"],
  ["GET", { "if-modified-since": "yesterday" }, true, "proceed"],
  ["GET", { "if-modified-since": AT, "if-none-match": '"v0"' }, true, "proceed"],
  ["GET", { "if-match": '"v0"' }, true, "failed"],
  ["GET", { "if-match": `W/${TAG}` }, true, "failed"],
  ["GET", { "if-unmodified-since": BEFORE }, true, "failed"],
  ["GET", { "if-unmodified-since": AT }, true, "proceed"],
  ["PUT", { "if-none-match": TAG }, true, "failed"],
  ["PUT", { "if-none-match": '"v0"' }, true, "proceed"],
  ["PUT", { "if-none-match": `"v0" , W/${TAG}` }, true, "failed"],
  ["PUT", { "if-none-match": "*" }, true, "failed"],
  ["PUT", { "if-none-match": "*" }, false, "proceed"],
  ["PUT", { "if-none-match": TAG }, false, "proceed"],
  ["PUT", { "if-none-match": "nonsense" }, true, "failed"],
  ["PUT", { "if-match": "*" }, true, "proceed"],
  ["PUT", { "if-match": "*" }, false, "failed"],
  ["PUT", { "if-match": TAG }, true, "proceed"],
  ["PUT", { "if-match": `"v0", ${TAG}` }, true, "proceed"],
  ["PUT", { "if-match": '"v0"' }, true, "failed"],
  ["PUT", { "if-match": TAG, "if-none-match": TAG }, true, "failed"],
  ["PUT", { "if-modified-since": AT }, true, "proceed"],
  ["PUT", { "if-unmodified-since": BEFORE }, true, "failed"],
];

for (const [method, headers, isThere, verdict] of TABLE) {
  const given = JSON.stringify(headers);
  Deno.test(`evaluateConditions: ${method} ${given} with ${isThere ? "a file" : "nothing"} there: ${verdict}`, () => {
    equal(evaluateConditions(method, new Headers(headers), isThere ? CURRENT : null), verdict);
  });
}

Deno.test("isRangeCurrent takes the same strong tag or the same date, and nothing else", () => {
  const isCurrent = (field: string) => isRangeCurrent(new Headers({ "if-range": field }), CURRENT);
  equal(isRangeCurrent(new Headers(), CURRENT), true);
  equal(isCurrent(TAG), true);
  equal(isCurrent(AT), true);
  equal(isCurrent(`W/${TAG}`), false);
  equal(isCurrent('"v0"'), false);
  equal(isCurrent(BEFORE), false);
  equal(isCurrent("rubbish"), false);
});
