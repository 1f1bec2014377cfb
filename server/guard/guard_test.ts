import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import fc from "fast-check";
import { Guard, type GuardOptions } from "./guard.ts";
import { isPublicAddress } from "./addresses.ts";

const FORBIDDEN_URLS = [
  "http://127.0.0.1/",
  "http://2130706433/", // decimal
  "http://0177.0.0.1/", // octal
  "http://0x7f.0.0.1/", // hex
  "http://0x7f000001/",
  "http://127.1/",
  "http://0/",
  "http://0.0.0.0/",
  "http://[::]/",
  "http://[::1]/",
  "http://[::127.0.0.1]/",
  "http://[::7f00:1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::ffff:0:127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[64:ff9b::a00:1]/",
  "http://[64:ff9b:1::a00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:0:7f00:1::]/",
  "http://[fe80::1]/",
  "http://[fc00::1]/",
  "http://[fd00:ec2::254]/",
  "http://[fec0::1]/",
  "http://[ff02::1]/",
  "http://[100::1]/",
  "http://[2001:db8::1]/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://192.168.1.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://100.64.0.1/",
  "http://100.100.100.200/",
  "http://168.63.129.16/",
  "http://192.0.0.192/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://240.0.0.1/",
  "http://１２７.０.０.１/", // full-width digits, which URLs fold
  "http://127。0。0。1/", // ideographic full stops
];

Deno.test("guard refuses every spelling of an address that is not public", () => {
  const guard = new Guard();
  for (const url of FORBIDDEN_URLS) {
    throws(() => guard.checkUrl(new URL(url)), { code: "address_forbidden", status: 403 }, url);
  }
});

Deno.test("guard lets public addresses pass", async () => {
  const guard = new Guard();
  for (const address of ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450::1"]) {
    const url = new URL(`http://${address.includes(":") ? `[${address}]` : address}/`);
    guard.checkUrl(url);
    deepEqual(await guard.resolve(url), [address]);
  }
});

Deno.test("guard refuses schemes, credentials and ports that are not for HTTP", () => {
  const guard = new Guard();
  for (const url of ["file:///etc/passwd", "data:text/plain,hi", "ftp://example.com/", "ws://example.com/", "blob:x"]) {
    throws(() => guard.checkUrl(new URL(url)), { code: "url_invalid", status: 400 }, url);
  }
  throws(() => guard.checkUrl(new URL("http://user:pass@example.com/")), { code: "url_invalid" });
  throws(() => guard.checkUrl(new URL("http://example.com:25/")), { code: "port_forbidden", status: 403 });
});

Deno.test("guard refuses own hosts whatever the allow-list says", () => {
  const guard = new Guard({ allow: ["portway.test"], isOwnHost: (name) => name === "portway.test" });
  throws(() => guard.checkUrl(new URL("http://PORTWAY.test./")), { code: "own_host_forbidden", status: 403 });
});

Deno.test("guard refuses a name and an address that lead to this server, whatever the allow-list says", async () => {
  const guard = new Guard({
    allow: ["own.test", "10.0.0.0/8"],
    resolver: resolveTo({ "own.test": ["10.0.0.4", "10.0.0.5"] }),
    isOwnAddress: (address, port) => Promise.resolve(address === "10.0.0.5" && port === 8787),
  });
  for (const host of ["own.test", "10.0.0.5"]) {
    await rejects(guard.resolve(new URL(`http://${host}:8787/`)), { code: "own_host_forbidden", status: 403 });
    // A service beside this one, which was allowed.
    ok((await guard.resolve(new URL(`http://${host}:8788/`))).includes("10.0.0.5"));
  }
});

Deno.test("guard refuses a name of which any address is not public", async () => {
  const resolver = resolveTo({ "mixed.test": ["93.184.215.14", "10.0.0.1"], "inner.test": ["::ffff:10.0.0.1"] });
  const guard = new Guard({ resolver });
  await rejects(guard.resolve(new URL("http://mixed.test/")), { code: "address_forbidden" });
  await rejects(guard.resolve(new URL("http://inner.test/")), { code: "address_forbidden" });
  await rejects(guard.resolve(new URL("http://gone.test/")), { code: "host_not_found", status: 502 });
  await rejects(new Guard().resolve(new URL("http://any.localhost/")), { code: "address_forbidden" });
});

Deno.test("guard lets pass what the allow-list has, and nothing beside it", async () => {
  const resolver = resolveTo({ "nas.lan": ["10.0.0.5"], "a.home.test": ["10.0.0.6"], "other.test": ["10.1.0.1"] });
  const guard = new Guard({ allow: ["nas.lan", "*.home.test", "192.168.1.0/24", "fd00::/8"], resolver });
  deepEqual(await guard.resolve(new URL("http://nas.lan/")), ["10.0.0.5"]);
  deepEqual(await guard.resolve(new URL("http://a.home.test/")), ["10.0.0.6"]);
  guard.checkUrl(new URL("http://192.168.1.77:25/"));
  guard.checkUrl(new URL("http://[fd00::1]/"));
  throws(() => guard.checkUrl(new URL("http://192.168.2.1/")), { code: "address_forbidden" });
  await rejects(guard.resolve(new URL("http://other.test/")), { code: "address_forbidden" });
});

Deno.test("guard allows an address that is listed in its IPv4-mapped form too", () => {
  new Guard({ allow: ["10.0.0.1"] }).checkUrl(new URL("http://[::ffff:10.0.0.1]/"));
});

Deno.test("guard says which entry of the allow-list it cannot read", () => {
  for (const entry of ["10.0.0.0/33", "999.1.1.1", "http://nas.lan", "a b"]) {
    throws(() => new Guard({ allow: [entry] }), SyntaxError, entry);
  }
});

Deno.test("isPublicAddress never says yes to an IPv6 form that carries an IPv4 address", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
    const v4 = octets.join(".");
    equal(isPublicAddress(`::${v4}`), false);
    equal(isPublicAddress(`64:ff9b::${v4}`), false);
    equal(isPublicAddress(`::ffff:${v4}`), isPublicAddress(v4));
  }));
});

Deno.test("isPublicAddress never throws and says no to what is no address", () => {
  fc.assert(fc.property(fc.string(), (text) => {
    if (!/^[\d.:a-f]+$/i.test(text)) equal(isPublicAddress(text), false);
  }));
});

function resolveTo(names: Record<string, string[]>): GuardOptions["resolver"] {
  return (hostname) => names[hostname] ? Promise.resolve(names[hostname]) : Promise.reject(new Error("ENOTFOUND"));
}
