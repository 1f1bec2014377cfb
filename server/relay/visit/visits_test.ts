import assert from "node:assert/strict";
import fc from "fast-check";
import { normalizeHost, TunnelHosts } from "./visits.ts";

const DOMAINS = { ephemeral: "try.localhost", persistent: "tunnel.localhost", ownHosts: ["hq.try.localhost"] };

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

Deno.test("TunnelHosts finds the label whatever the port, the case or a trailing dot", () => {
  const hosts = new TunnelHosts(DOMAINS);
  const find = (host: string) => hosts.find(host)?.label ?? null;
  for (const [host, label] of cases) assert.equal(find(host), label, host);
  // Once more, backwards: what was asked last must not stick.
  for (const [host, label] of cases.toReversed()) assert.equal(find(host), label, host);
});

Deno.test("TunnelHosts knows the kind of tunnel by its domain", () => {
  const hosts = new TunnelHosts(DOMAINS);
  assert.deepEqual(hosts.find("app-k3v9.tunnel.localhost"), { kind: "persistent", label: "app-k3v9" });
  assert.deepEqual(hosts.find("App-k3v9--8080.Tunnel.localhost:80"), { kind: "persistent", label: "app-k3v9--8080" });
  assert.deepEqual(hosts.find("app-k3v9.try.localhost"), { kind: "ephemeral", label: "app-k3v9" });
  assert.equal(hosts.find("a.b.tunnel.localhost")?.label, "");
});

Deno.test("TunnelHosts tells kinds apart where their domains are one, or one is below the other", () => {
  const one = new TunnelHosts({ ephemeral: "t.example", persistent: "t.example", ownHosts: ["example"] });
  assert.equal(one.find("k3v9.t.example")?.kind, "ephemeral");
  assert.equal(one.find("app-k3v9.t.example")?.kind, "persistent");
  const below = new TunnelHosts({ ephemeral: "localhost", persistent: "tunnel.localhost", ownHosts: ["hq.localhost"] });
  assert.deepEqual(below.find("app-k3v9.tunnel.localhost"), { kind: "persistent", label: "app-k3v9" });
  assert.deepEqual(below.find("k3v9.localhost"), { kind: "ephemeral", label: "k3v9" });
  const above = new TunnelHosts({ ephemeral: "try.localhost", persistent: "localhost", ownHosts: ["hq.localhost"] });
  assert.deepEqual(above.find("k3v9.try.localhost"), { kind: "ephemeral", label: "k3v9" });
  assert.deepEqual(above.find("app-k3v9.localhost"), { kind: "persistent", label: "app-k3v9" });
});

Deno.test("TunnelHosts never throws and never gives a label that is none", () => {
  const hosts = new TunnelHosts(DOMAINS);
  const domain = fc.constantFrom("try.localhost", "tunnel.localhost");
  const below = fc.tuple(fc.string(), domain).map(([text, domain]) => `${text}.${domain}`);
  fc.assert(
    fc.property(fc.oneof(fc.string(), below, fc.constantFrom(...cases[0].map(String))), (text) => {
      const label = hosts.find(text)?.label ?? "";
      assert(label === "" || /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("normalizeHost keeps addresses in brackets whole", () => {
  assert.equal(normalizeHost("[::1]:80"), "[::1]");
  assert.equal(normalizeHost("[::1]"), "[::1]");
  assert.equal(normalizeHost("A.:80"), "a");
});
