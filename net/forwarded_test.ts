import assert from "node:assert/strict";
import { createOriginReader } from "./forwarded.ts";
import { networkOf } from "../common/network.ts";
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
  const claimed = { address: "203.0.113.9", proto: "https", host: "b.example", isProxied: true };
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
  assert.equal(address("203.0.113.9, nonsense"), "10.0.0.1");
  assert.equal(address("203.0.113.9, unknown, 10.0.0.2"), "10.0.0.2");
});

Deno.test("createOriginReader reads hops with ports, which are no reason to believe the one before", () => {
  const address = (list: string) => read(["10.0.0.0/8"], "10.0.0.1", { "x-forwarded-for": list }).address;
  assert.equal(address("6.6.6.6, 203.0.113.9:41234"), "203.0.113.9");
  assert.equal(address("6.6.6.6, [2001:db8::1]:41234"), "2001:db8::1");
  assert.equal(address("6.6.6.6, ::ffff:203.0.113.9"), "203.0.113.9");
});

Deno.test("createOriginReader gives IPv4 addresses as such", () => {
  assert.equal(read([], "::ffff:203.0.113.9", {}).address, "203.0.113.9");
  assert.equal(read([], "2001:db8::1", {}).address, "2001:db8::1");
});

Deno.test("networkOf is the address of an IPv4 visitor and the /64 of an IPv6 one", () => {
  assert.equal(networkOf("203.0.113.9"), "203.0.113.9");
  assert.equal(networkOf("::ffff:203.0.113.9"), "203.0.113.9");
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:db8:1:2::1"));
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"));
  assert.equal(networkOf("nonsense"), "nonsense");
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
