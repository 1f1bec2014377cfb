import assert from "node:assert/strict";
import { createLogger, describeError, type LogFormat, silentLogger } from "./log.ts";

function collect(format: LogFormat) {
  const lines: string[] = [];
  const now = () => new Date("2026-01-02T03:04:05.678Z");
  return { lines, log: createLogger({ format, level: "info", write: (line) => lines.push(line), now }) };
}

Deno.test("createLogger writes text: time, level, event, fields", () => {
  const { lines, log } = collect("text");
  log.info("opened", { id: "a-1", count: 2, gone: undefined, none: null });
  log.error("failed", { reason: 'two\nlines "x"' });
  assert.deepEqual(lines, [
    "2026-01-02T03:04:05.678Z info  opened id=a-1 count=2 none=null",
    '2026-01-02T03:04:05.678Z error failed reason="two\\nlines \\"x\\""',
  ]);
});

Deno.test("createLogger's text steers no terminal, whatever a stranger says", () => {
  const { lines, log } = collect("text");
  log.info("ended", { text: "\x1b[2J\x9b31m\u202e" });
  assert.match(lines[0], / text="\\u001b\[2J\\u009b31m\\u202e"$/);
});

Deno.test("createLogger writes one JSON object a line, whatever the fields hold", () => {
  const { lines, log } = collect("json");
  log.warn("odd", { reason: "a\nb" });
  assert.equal(lines[0].includes("\n"), false);
  assert.deepEqual(JSON.parse(lines[0]), {
    time: "2026-01-02T03:04:05.678Z",
    level: "warn",
    event: "odd",
    reason: "a\nb",
  });
});

Deno.test("createLogger drops what is below its level", () => {
  const { lines, log } = collect("text");
  log.debug("unseen");
  log.info("seen");
  assert.equal(lines.length, 1);
  silentLogger.error("unseen");
});

Deno.test("describeError takes whatever was thrown", () => {
  assert.deepEqual([describeError(new Error("a")), describeError("b"), describeError(undefined)], [
    "a",
    "b",
    "undefined",
  ]);
});
