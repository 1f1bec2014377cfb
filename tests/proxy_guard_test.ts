import { deepEqual, equal } from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { listen } from "../net/listener/mod.ts";
import { silentLogger } from "../common/log.ts";
import { Cors } from "../server/http/mod.ts";
import { CorsProxy, type ProxyOptions } from "../server/proxy/mod.ts";
import { startRawUpstream, startTestProxy, startTestUpstream } from "./proxy_kit.ts";

/** A listener on all addresses of this machine that must never be dialled. */
function startTrap() {
  return startRawUpstream(async (connection) => {
    await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    connection.close();
  });
}

Deno.test("proxy refuses each of a table of hostile URLs by its code, and dials none", async () => {
  await using trap = startTrap();
  await using proxy = await startTestProxy();
  const port = trap.port;
  const cases: [string, string][] = [
    [`http://127.0.0.1:${port}/`, "403 address_forbidden"],
    [`http://2130706433:${port}/`, "403 address_forbidden"],
    [`http://0177.0.0.1:${port}/`, "403 address_forbidden"],
    [`http://0x7f.1:${port}/`, "403 address_forbidden"],
    [`http://0x7f000001:${port}/`, "403 address_forbidden"],
    [`http://127.1:${port}/`, "403 address_forbidden"],
    [`http://0:${port}/`, "403 address_forbidden"],
    [`http://0.0.0.0:${port}/`, "403 address_forbidden"],
    [`http://[::]:${port}/`, "403 address_forbidden"],
    [`http://[::1]:${port}/`, "403 address_forbidden"],
    [`http://[::ffff:127.0.0.1]:${port}/`, "403 address_forbidden"],
    [`http://[::ffff:7f00:1]:${port}/`, "403 address_forbidden"],
    [`http://[::127.0.0.1]:${port}/`, "403 address_forbidden"],
    [`http://[64:ff9b::127.0.0.1]:${port}/`, "403 address_forbidden"],
    [`http://[64:ff9b:1::7f00:1]:${port}/`, "403 address_forbidden"],
    [`http://[2002:7f00:1::]:${port}/`, "403 address_forbidden"],
    [`http://localhost:${port}/`, "403 address_forbidden"],
    [`http://LOCALHOST.:${port}/`, "403 address_forbidden"],
    [`http://a.b.localhost:${port}/`, "403 address_forbidden"],
    [`https://127.0.0.1:${port}/`, "403 address_forbidden"],
    ["http://169.254.169.254/latest/meta-data/", "403 address_forbidden"],
    ["http://[fd00:ec2::254]/", "403 address_forbidden"],
    ["http://100.100.100.200/", "403 address_forbidden"],
    [`http://user:pass@127.0.0.1:${port}/`, "400 url_invalid"],
    ["file:///etc/passwd", "400 url_invalid"],
    ["data:text/plain,hello", "400 url_invalid"],
    ["ftp://127.0.0.1/", "400 url_invalid"],
    [`ws://127.0.0.1:${port}/`, "400 url_invalid"],
    ["javascript:alert(1)", "400 url_invalid"],
    ["blob:http://127.0.0.1/x", "400 url_invalid"],
    ["//127.0.0.1/", "400 description_invalid"],
    ["http://127.0.0.1:99999/", "400 description_invalid"],
    ["http://1.1.1.1:25/", "403 port_forbidden"],
    [proxy.url, "403 own_host_forbidden"],
    [proxy.url.replace("127.0.0.1", "localhost"), "403 own_host_forbidden"],
    [proxy.url.replace("127.0.0.1", "[::1]"), "403 own_host_forbidden"],
  ];
  for (const [url, wanted] of cases) {
    for (const stream of [false, true]) {
      const response = await proxy.request({ url, stream });
      equal(`${response.status} ${response.headers.get("portway-error")}`, wanted, url);
      await response.body?.cancel();
    }
  }
  equal(trap.connections, 0);
});

Deno.test("proxy never reaches its own server, whatever leads there, and reaches services beside it", async () => {
  await using beside = startTestUpstream(() => new Response("beside"));
  await using entry = startTestUpstream((request) => {
    return new Response(null, {
      status: 302,
      headers: { location: new URL(request.url).searchParams.get("to") ?? "" },
    });
  });
  const interfaces = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const own4 = interfaces.filter(({ family }) => family === "IPv4").map(({ address }) => address);
  await using proxy = await startTestProxy({ host: "0.0.0.0", proxyAllow: ["127.0.0.0/8", "::1", ...own4].join() });
  const { port } = new URL(proxy.url);
  for (const host of ["[::ffff:127.0.0.1]", "127.5.5.5", "0.0.0.0", "a.localhost", ...own4]) {
    const own = `http://${host}:${port}/health`;
    for (const url of [own, `${entry.url}/?to=${encodeURIComponent(own)}`]) {
      const response = await proxy.request({ url });
      // What stands for no address in particular is refused for that already.
      const wanted = host === "0.0.0.0" ? "address_forbidden" : "own_host_forbidden";
      deepEqual([response.status, response.headers.get("portway-error")], [403, wanted], url);
      await response.body?.cancel();
    }
  }
  equal((await (await proxy.request({ url: beside.url })).json()).body, "beside");
});

Deno.test("proxy refuses redirects into private space, and dials none", async () => {
  await using trap = startTrap();
  // The first hop is allowed by name; where it leads is not.
  await using upstream = startTestUpstream((request) => {
    const location = new URL(request.url).searchParams.get("to") ?? "";
    return new Response(null, { status: 302, headers: { location } });
  });
  await using face = await startProxyWith({
    allow: ["entry.test"],
    resolver: (name) => Promise.resolve(name === "entry.test" || name === "inner.test" ? ["127.0.0.1"] : []),
  });
  const cases: [string, string][] = [
    [`http://127.0.0.1:${trap.port}/`, "403 address_forbidden"],
    [`//[::ffff:127.0.0.1]:${trap.port}/`, "403 address_forbidden"],
    [`http://inner.test:${trap.port}/`, "403 address_forbidden"],
    ["http://own.test/", "403 own_host_forbidden"],
    ["file:///etc/passwd", "400 url_invalid"],
    ["http://nowhere.test/", "502 host_not_found"],
  ];
  for (const [to, wanted] of cases) {
    const url = `http://entry.test:${upstream.port}/?to=${encodeURIComponent(to)}`;
    const response = await face.request({ url });
    equal(`${response.status} ${response.headers.get("portway-error")}`, wanted, to);
    await response.body?.cancel();
  }
  equal(upstream.requests.length, cases.length);
  equal(trap.connections, 0);
});

Deno.test("proxy dials the address it checked when DNS says something else a moment later", async () => {
  await using trap = startTrap();
  const answers = [["127.0.0.9"], ["127.0.0.1"]];
  let asked = 0;
  await using face = await startProxyWith({
    // Stands in for a public address: what the name says first may be dialled, what it says next may not.
    allow: ["127.0.0.9/32"],
    resolver: () => Promise.resolve(answers[Math.min(asked++, 1)]),
  });
  const url = `http://rebind.test:${trap.port}/`;
  const first = await face.request({ url, timeoutMs: 2000 });
  // Nothing listens on 127.0.0.9: refused there shows that it was that address which was dialled.
  deepEqual([asked, first.headers.get("portway-error"), trap.connections], [1, "upstream_refused", 0]);
  await first.body?.cancel();
  const second = await face.request({ url });
  deepEqual([asked, second.headers.get("portway-error"), trap.connections], [2, "address_forbidden", 0]);
  await second.body?.cancel();
});

Deno.test("proxy sends the name as Host to the address it was resolved to", async () => {
  await using upstream = startTestUpstream((request) => new Response(request.headers.get("host")));
  await using face = await startProxyWith({ allow: ["named.test"], resolver: () => Promise.resolve(["127.0.0.1"]) });
  const answer = await (await face.request({ url: `http://named.test:${upstream.port}/` })).json();
  equal(answer.body, `named.test:${upstream.port}`);
});

Deno.test("proxy tries the next address of a name when one refuses", async () => {
  await using upstream = startTestUpstream(() => new Response("reached"));
  await using face = await startProxyWith({
    allow: ["named.test"],
    resolver: () => Promise.resolve(["127.0.0.9", "127.0.0.1"]),
  });
  equal((await (await face.request({ url: `http://named.test:${upstream.port}/` })).json()).body, "reached");
});

/** A proxy whose names are resolved by the test. */
async function startProxyWith(some: Pick<ProxyOptions, "allow" | "resolver">) {
  const proxy = new CorsProxy({
    log: silentLogger,
    isOwnHost: (name) => name === "own.test",
    isOwnAddress: () => false,
    cors: new Cors({ origins: [], requestOrigin: ({ host }) => `http://${host}`, isOwnOrigin: () => false }),
    addressOf: ({ remoteAddress }) => remoteAddress,
    files: null,
    token: null,
    requestsPerMinute: null,
    maxConcurrent: 100,
    maxBytes: 1e6,
    maxDescriptionBytes: 1e6,
    maxUploadBytes: 1e6,
    timeoutMs: 5000,
    allowSkipTlsVerify: false,
    openPaths: false,
    isAlone: true,
    streamIdleMs: 5000,
    ...some,
  });
  const listener = await listen(
    "deno",
    { hostname: "127.0.0.1", port: 0, log: silentLogger },
    (exchange) => proxy.handle(exchange),
  );
  return {
    request: (description: unknown) =>
      fetch(`http://127.0.0.1:${listener.port}/proxy/request`, { method: "POST", body: JSON.stringify(description) }),
    async [Symbol.asyncDispose]() {
      await listener.close();
      proxy.close();
    },
  };
}
