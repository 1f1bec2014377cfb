import assert from "node:assert/strict";
import fc from "fast-check";
import { createHostMatcher, normalizeHost } from "./hosts.ts";

const cases: [host: string, label: string | null][] = [
  ["abc.try.localhost", "abc"],
  ["abc.try.localhost:8787", "abc"],
  ["ABC.Try.LocalHost.", "abc"],
  ["abc.try.localhost.:80", "abc"],
  ["a-b2.try.localhost", "a-b2"],
  ["x".repeat(63) + ".try.localhost", "x".repeat(63)],
  // Below our domain, so never the server's own pages; but no label that a tunnel can have.
  ["x".repeat(64) + ".try.localhost", ""],
  [".try.localhost", ""],
  ["a.b.try.localhost", ""],
  ["-a.try.localhost", ""],
  ["a-.try.localhost", ""],
  ["a_b.try.localhost", ""],
  ["a%2e.try.localhost", ""],
  ["try.localhost", null],
  ["localhost", null],
  ["hq.try.localhost", null],
  ["HQ.try.localhost.:8787", null],
  ["hq.hq.try.localhost", ""],
  ["atry.localhost", null],
  ["abc.try.localhost.evil.example", null],
  ["abc.try.localhost..", null],
  ["127.0.0.1:8787", null],
  ["[::1]:8787", null],
  ["", null],
];

Deno.test("ephemeralLabel finds the label whatever the port, the case or a trailing dot", () => {
  const matcher = createHostMatcher("try.localhost", "hq.try.localhost");
  for (const [host, label] of cases) assert.equal(matcher.ephemeralLabel(host), label, host);
  // Once more, backwards: what was asked last must not stick.
  for (const [host, label] of cases.toReversed()) assert.equal(matcher.ephemeralLabel(host), label, host);
});

Deno.test("ephemeralLabel never throws and never gives a label that is none", () => {
  const { ephemeralLabel } = createHostMatcher("try.localhost", "hq.try.localhost");
  const host = fc.oneof(fc.string(), fc.string().map((text) => `${text}.try.localhost`), fc.constantFrom(...cases[0]));
  fc.assert(
    fc.property(host, (text) => {
      const label = ephemeralLabel(String(text));
      assert(label === null || label === "" || /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("normalizeHost keeps addresses in brackets whole", () => {
  assert.equal(normalizeHost("[::1]:80"), "[::1]");
  assert.equal(normalizeHost("[::1]"), "[::1]");
  assert.equal(normalizeHost("A.:80"), "a");
});
