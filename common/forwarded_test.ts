import assert from "node:assert/strict";
import { createOriginReader } from "./forwarded.ts";
import type { Exchange } from "./listener/mod.ts";

/** As much of an exchange as a reader looks at. */
function read(trusted: string[], remoteAddress: string, headers: Record<string, string>, secure = false) {
  const exchange = { remoteAddress, host: "a.example", secure, header: (name: string) => headers[name] ?? null };
  return createOriginReader(trusted)(exchange as unknown as Exchange);
}

const CLAIMS = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-forwarded-host": "b.example" };

Deno.test("createOriginReader believes nobody by default, and no stranger", () => {
  const plain = { address: "198.51.100.1", proto: "http", host: "a.example" };
  assert.deepEqual(read([], "198.51.100.1", CLAIMS), plain);
  assert.deepEqual(read(["10.0.0.0/8"], "198.51.100.1", CLAIMS), plain);
  assert.equal(read([], "198.51.100.1", {}, true).proto, "https");
});

Deno.test("createOriginReader believes its proxies, by address or range, mapped addresses too", () => {
  const claimed = { address: "203.0.113.9", proto: "https", host: "b.example" };
  for (const peer of ["10.1.2.3", "::ffff:10.1.2.3"]) assert.deepEqual(read(["10.0.0.0/8"], peer, CLAIMS), claimed);
  assert.deepEqual(read(["::1"], "::1", CLAIMS), claimed);
  assert.equal(read(["10.0.0.0/8"], "::1", CLAIMS).address, "::1");
});

Deno.test("createOriginReader takes the last hop that is no proxy, so that nobody can make one up", () => {
  const address = (list: string) => read(["10.0.0.0/8"], "10.0.0.1", { "x-forwarded-for": list }).address;
  assert.equal(address("1.1.1.1, 203.0.113.9, 10.0.0.2"), "203.0.113.9");
  assert.equal(address("nonsense, 203.0.113.9"), "203.0.113.9");
  assert.equal(address("10.0.0.3, 10.0.0.2"), "10.0.0.3");
  assert.equal(address("nonsense"), "10.0.0.1");
});

Deno.test("createOriginReader passes over a protocol or a host that is none", () => {
  const { proto, host } = read(["10.0.0.1"], "10.0.0.1", {
    "x-forwarded-proto": "gopher",
    "x-forwarded-host": 'b"\r\nx: y',
  });
  assert.deepEqual([proto, host], ["http", "a.example"]);
});

Deno.test("createOriginReader refuses a proxy that is neither an address nor a range", () => {
  assert.throws(() => createOriginReader(["example.com"]), /"example.com" is neither an IP address nor a CIDR range/);
});
