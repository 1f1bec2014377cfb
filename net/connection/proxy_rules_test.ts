import assert from "node:assert/strict";
import { OptionError } from "../../common/options.ts";
import { type Environment, readProxyRules } from "./proxy_rules.ts";

const choose = (env: Environment, hostname = "relay.example", port = 443, secure = true) =>
  readProxyRules(env)(hostname, port, secure);

Deno.test("readProxyRules chooses by scheme, falls back to all_proxy and prefers small letters", () => {
  assert.equal(choose({}), null);
  assert.equal(choose({ HTTPS_PROXY: "http://a:1" })?.hostname, "a");
  assert.equal(choose({ HTTPS_PROXY: "http://a:1", https_proxy: "http://b:2" })?.port, 2);
  assert.equal(choose({ HTTPS_PROXY: "http://a:1", https_proxy: "" })?.port, 1);
  assert.equal(choose({ HTTPS_PROXY: "http://a:1" }, "relay.example", 80, false), null);
  assert.equal(choose({ http_proxy: "http://a:1" }, "relay.example", 80, false)?.hostname, "a");
  assert.equal(choose({ http_proxy: "http://a:1" }), null);
  assert.equal(choose({ http_proxy: "http://a:1", ALL_PROXY: "http://b:2" })?.hostname, "b");
});

Deno.test("readProxyRules reads host, port and credentials of a proxy's URL", () => {
  assert.deepEqual(choose({ https_proxy: "http://a" }), { hostname: "a", port: 80 });
  assert.deepEqual(choose({ https_proxy: "a:3128" }), { hostname: "a", port: 3128 });
  assert.deepEqual(choose({ https_proxy: "http://[2001:db8::1]:8080/" }), { hostname: "2001:db8::1", port: 8080 });
  assert.deepEqual(choose({ https_proxy: "http://u:p%40%C3%A9@a:1" })?.authorization, `Basic ${"dTpwQMOp"}`);
  assert.deepEqual(choose({ https_proxy: "u@a:1" })?.authorization, `Basic ${btoa("u:")}`);
});

Deno.test("readProxyRules refuses what is no http proxy, naming the variable and no password", () => {
  for (
    const url of ["socks5://u:hunter2@a:1", "https://u:hunter2@a", "http://u:hunter2@:99999", "http://u:hunter2%@a"]
  ) {
    assert.throws(() => readProxyRules({ HTTPS_PROXY: url }), (error: unknown) => {
      assert(error instanceof OptionError);
      assert.match(error.message, /^HTTPS_PROXY: /);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
  }
});

const EXEMPT: [no_proxy: string, hostname: string, port: number, exempt: boolean][] = [
  ["*", "relay.example", 443, true],
  ["relay.example", "relay.example", 443, true],
  ["relay.example", "RELAY.example.", 443, true],
  ["relay.example", "a.b.relay.example", 443, true],
  ["relay.example", "myrelay.example", 443, false],
  ["relay.example", "relay.example.org", 443, false],
  [".example", "relay.example", 443, true],
  ["*.example", "relay.example", 443, true],
  ["x, relay.example  y", "relay.example", 443, true],
  ["relay.example:443", "relay.example", 443, true],
  ["relay.example:8443", "relay.example", 443, false],
  ["192.0.2.1", "192.0.2.1", 443, true],
  ["192.0.2.1:80", "192.0.2.1", 443, false],
  ["2001:db8::1", "2001:db8::1", 443, true],
  ["[2001:db8::1]", "[2001:db8::1]", 443, true],
  ["[2001:db8::1]:443", "2001:db8::1", 443, true],
  ["[2001:db8::1]:80", "2001:db8::1", 443, false],
  ["192.0.2.0/24", "192.0.2.77", 443, true],
  ["192.0.2.0/24", "192.0.3.77", 443, false],
  ["2001:db8::/32", "2001:db8:1::1", 443, true],
  ["2001:db8::/32,192.0.2.0/99,a/b", "relay.example", 443, false],
  ["", "relay.example", 443, false],
  ["", "localhost", 443, true],
  ["", "a.localhost", 443, true],
  ["", "127.1.2.3", 443, true],
  ["", "[::1]", 443, true],
  ["", "127.0.0.1.example", 443, false],
  ["", "notlocalhost", 443, false],
];

for (const [no_proxy, hostname, port, exempt] of EXEMPT) {
  Deno.test(`readProxyRules with no_proxy "${no_proxy}" ${exempt ? "exempts" : "keeps"} ${hostname}:${port}`, () => {
    assert.equal(choose({ no_proxy, all_proxy: "http://a" }, hostname, port) === null, exempt);
  });
}
