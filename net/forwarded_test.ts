import assert from "node:assert/strict";
import { createOriginReader, networkOf, type Origin, type OriginReader } from "./forwarded.ts";
import { encodeLatin1, RequestHead } from "./http1/mod.ts";

/** Reads the origin of a request with these fields; repeated names are given as a list. */
function read(trusted: string[], remoteAddress: string, headers: Record<string, string | string[]>, secure = false) {
  return readWith(createOriginReader(trusted), remoteAddress, headers, secure);
}

function readWith(
  reader: OriginReader,
  remoteAddress: string,
  headers: Record<string, string | string[]>,
  secure = false,
): Partial<Origin> {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`)
  );
  const bytes = encodeLatin1(`GET / HTTP/1.1\r\nhost: a.example\r\n${lines.join("")}\r\n`);
  const head = new RequestHead();
  assert.equal(head.parse(bytes, 0, bytes.length, 250), true);
  const { network: _, ...origin } = reader({ remoteAddress, host: head.host, secure, head });
  return origin;
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
    "x-forwarded-host": 'b"; x=y',
  });
  assert.deepEqual([proto, host], ["http", "a.example"]);
});

Deno.test("createOriginReader refuses a proxy that is neither an address nor a range", () => {
  assert.throws(() => createOriginReader(["example.com"]), /"example.com" is neither an IP address nor a CIDR range/);
});

Deno.test("createOriginReader joins repeated lines, and reads a missing one as the connection's", () => {
  const reader = createOriginReader(["10.0.0.0/8"]);
  const of = (headers: Record<string, string | string[]>) => readWith(reader, "10.0.0.1", headers);
  assert.equal(of({ "x-forwarded-for": ["6.6.6.6", "203.0.113.9, 10.0.0.2"] }).address, "203.0.113.9");
  assert.deepEqual(of({}), { address: "10.0.0.1", proto: "http", host: "a.example", isProxied: false });
  assert.equal(of({ "x-forwarded-proto": ["https", "http"] }).proto, "http");
});

Deno.test("createOriginReader keeps what it has parsed apart by field, by peer and by value", () => {
  const reader = createOriginReader(["10.0.0.0/8"]);
  const of = (headers: Record<string, string>, peer = "10.0.0.1") => readWith(reader, peer, headers);
  for (let round = 0; round < 2; round++) {
    assert.equal(of({ "x-forwarded-for": "203.0.113.9" }).address, "203.0.113.9");
    assert.equal(of({ "x-forwarded-for": "203.0.113.8" }).address, "203.0.113.8");
    assert.equal(of({ "x-forwarded-host": "203.0.113.9" }).host, "203.0.113.9");
    assert.equal(of({ "x-forwarded-host": "203.0.113.9" }).address, "10.0.0.1");
    assert.equal(of({ "x-forwarded-for": "203.0.113.9" }, "198.51.100.1").address, "198.51.100.1");
    assert.equal(of({ "x-forwarded-for": "10.0.0.7" }, "10.0.0.2").address, "10.0.0.7");
    assert.equal(of({ "x-forwarded-for": "nonsense" }, "10.0.0.2").address, "10.0.0.2");
    assert.equal(of({ "x-forwarded-for": "nonsense" }, "10.0.0.1").address, "10.0.0.1");
  }
});

Deno.test("createOriginReader gives each of many visitors its own address, also where the fields are long", () => {
  const reader = createOriginReader(["10.0.0.0/8"]);
  for (let round = 0; round < 2; round++) {
    for (let visitor = 0; visitor < 3000; visitor++) {
      const address = `203.0.${visitor >> 8}.${visitor & 255}`;
      const list = visitor % 7 === 0 ? `${"6.6.6.6, ".repeat(40)}${address}` : address;
      const read = readWith(reader, visitor % 2 === 0 ? "10.0.0.1" : `10.1.${visitor >> 8}.${visitor & 255}`, {
        "x-forwarded-for": list,
        "x-forwarded-proto": visitor % 3 === 0 ? "https" : "http",
      });
      assert.equal(read.address, address);
      assert.equal(read.proto, visitor % 3 === 0 ? "https" : "http");
    }
  }
});

Deno.test("createOriginReader names the network of a visitor, which limits count by", () => {
  const head = new RequestHead(),
    bytes = encodeLatin1("GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 2001:db8::1\r\n\r\n");
  head.parse(bytes, 0, bytes.length, 250);
  const exchange = { remoteAddress: "::ffff:10.0.0.1", host: "a", secure: false, head };
  assert.equal(createOriginReader([])(exchange).network, "10.0.0.1");
  assert.equal(createOriginReader(["10.0.0.1"])(exchange).network, networkOf("2001:db8::1"));
});
