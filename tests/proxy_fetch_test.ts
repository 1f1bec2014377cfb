import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readFetchUrl } from "../server/proxy/routes/fetch.ts";
import { rawRequest } from "./kit.ts";
import { startRawUpstream, startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1,localhost" };

/** Tells what reached it, as JSON. */
const startEcho = () =>
  startTestUpstream(async (request) =>
    Response.json({
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      // One that is refused while it is on its way has no end.
      body: await request.text().catch(() => "cut"),
    }, { status: request.method === "DELETE" ? 418 : 200 })
  );

Deno.test("proxy makes a request to the URL behind /proxy/fetch/ with its method, headers and body, and passes the answer on", async () => {
  await using upstream = startEcho();
  await using proxy = await startTestProxy(ALLOW);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    const body = method === "GET" ? undefined : `body of ${method}`;
    const response = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/a%2Fb/?x=1&y=%20z`, {
      method,
      body,
      headers: { "x-own": "value", "authorization": "Bearer for-the-upstream", "content-type": "text/special" },
    });
    equal(response.status, method === "DELETE" ? 418 : 200);
    const echoed = await response.json();
    deepEqual([echoed.method, echoed.url, echoed.body], [method, `${upstream.url}/a%2Fb/?x=1&y=%20z`, body ?? ""]);
    equal(echoed.headers["x-own"], "value");
    equal(echoed.headers.authorization, "Bearer for-the-upstream");
    if (body !== undefined) equal(echoed.headers["content-type"], "text/special");
    equal(echoed.headers.host, new URL(upstream.url).host);
  }
});

Deno.test("proxy takes the URL escaped or not in ?url=, and with one slash of its two", async () => {
  await using upstream = startEcho();
  await using proxy = await startTestProxy(ALLOW);
  const wanted = `${upstream.url}/p?a=1&b=2`;
  for (
    const path of [
      `/proxy/fetch?url=${encodeURIComponent(wanted)}`,
      `/proxy/fetch?url=${wanted}`,
      `/proxy/fetch/?url=${wanted}`,
      `/proxy/fetch/${wanted.replace("//", "/")}`,
      `/proxy/fetch/${wanted}`,
    ]
  ) {
    equal((await (await fetch(proxy.url + path)).json()).url, wanted, path);
  }
  const wrong: [string, string][] = [
    ["/proxy/fetch", 'Field "url" must be given: put it behind the path, or into ?url=.'],
    ["/proxy/fetch?a=1&url=x", 'Field "url" must be the first parameter.'],
    ["/proxy/fetch/", 'Field "url" must be given: put it behind the path, or into ?url=.'],
    ["/proxy/fetch/nonsense", 'Field "url" is no absolute URL.'],
    ["/proxy/fetch?url=https%3A%2F%2Fa.test%2F&timeout=3", 'Field "timeout" is not known.'],
    ["/proxy/fetch?url=%zz", 'Field "url" is not escaped as it should be.'],
  ];
  for (const [path, message] of wrong) {
    const response = await fetch(proxy.url + path);
    deepEqual([response.status, (await response.json()).error.message], [400, message], path);
  }
});

Deno.test("proxy takes URLs right behind its address with --open-paths alone, and stays what it is besides", async () => {
  await using upstream = startEcho();
  const wanted = `${upstream.url}/p?a=1`;
  for (const openPaths of ["true", "false"]) {
    await using proxy = await startTestProxy({ ...ALLOW, openPaths });
    for (const path of [`/${wanted}`, `/?url=${encodeURIComponent(wanted)}`]) {
      const response = await fetch(proxy.url + path, { headers: { accept: "text/plain" } });
      const text = await response.text();
      equal(text.includes(`"url":"${wanted}"`), openPaths === "true", `${path} ${text}`);
    }
    equal((await (await fetch(`${proxy.url}/health`)).json()).status, "ok");
    match(await (await fetch(proxy.url)).text(), /^Portway proxy\n/);
    const unknown = await fetch(`${proxy.url}/favicon.ico`);
    equal(unknown.headers.get("portway-error"), "not_found");
    await unknown.body?.cancel();
  }
});

Deno.test("proxy passes a fetched answer on byte for byte, readable for pages, and lets nothing in it speak for this server", async () => {
  let sent: Record<string, string> = {};
  await using upstream = startTestUpstream((request) => {
    sent = Object.fromEntries(request.headers);
    return new Response("<script>alert(1)</script>", {
      status: 203,
      headers: [
        ["content-type", "text/html"],
        ["x-mine", "1"],
        ["x-mine", "2"],
        ["etag", '"e"'],
        ["cache-control", "max-age=5"],
        ["set-cookie", "session=stolen; Path=/"],
        ["content-security-policy", "default-src *"],
        ["access-control-allow-origin", "https://other.example"],
        ["strict-transport-security", "max-age=1"],
        ["clear-site-data", '"*"'],
        ["refresh", "0;url=https://evil.example"],
        ["portway-error", "made_up"],
      ],
    });
  });
  await using proxy = await startTestProxy(ALLOW);
  const response = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/`, {
    headers: { origin: "https://app.example", cookie: "own=secret", referer: "https://app.example/page" },
  });
  equal(await response.text(), "<script>alert(1)</script>");
  equal(response.status, 203);
  const { headers } = response;
  equal(headers.get("x-mine"), "1, 2");
  equal(headers.get("etag"), '"e"');
  equal(headers.get("cache-control"), "max-age=5, no-transform");
  equal(headers.get("access-control-allow-origin"), "*");
  match(headers.get("content-security-policy") ?? "", /^sandbox;/);
  for (const name of ["set-cookie", "strict-transport-security", "clear-site-data", "refresh", "portway-error"]) {
    equal(headers.get(name), null, name);
  }
  const exposed = headers.get("access-control-expose-headers")?.split(", ") ?? [];
  for (const name of ["x-mine", "etag", "x-final-url", "portway-error"]) ok(exposed.includes(name), name);
  // Nor does what the page's browser says of its user reach the upstream.
  for (const name of ["cookie", "referer", "origin"]) equal(sent[name], undefined, name);
});

Deno.test("proxy follows redirects of a fetched request, repeats a small body, and tells where it has been", async () => {
  await using upstream = startTestUpstream(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/end") return new Response(`${request.method} ${await request.text()}`);
    await request.body?.cancel();
    return new Response(null, { status: 307, headers: { location: "/end" } });
  });
  await using proxy = await startTestProxy(ALLOW);
  const response = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/start`, { method: "POST", body: "small" });
  equal(await response.text(), "POST small");
  equal(response.headers.get("x-request-url"), `${upstream.url}/start`);
  equal(response.headers.get("x-final-url"), `${upstream.url}/end`);
  equal(response.headers.get("x-cors-redirect-1"), `307 ${upstream.url}/end`);
  const large = new Blob(["x".repeat(200_000)]).stream();
  const refused = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/start`, { method: "POST", body: large });
  equal(refused.headers.get("portway-error"), "redirect_not_repeatable");
  await refused.body?.cancel();
});

Deno.test("proxy answers HEAD, 204, 304 and statuses that HTTP does not know of fetched requests", async () => {
  await using upstream = startRawUpstream(async (connection, received) => {
    const status = received.split(" ")[1].slice(1);
    const head = `HTTP/1.1 ${status} Said\r\nContent-Length: 5\r\nConnection: close\r\nX-Seen: yes\r\n\r\n`;
    const isEmpty = /^HEAD|^GET .(204|304)/.test(received);
    await connection.write(new TextEncoder().encode(head + (isEmpty ? "" : "hello")));
    connection.close();
  });
  await using proxy = await startTestProxy(ALLOW);
  const ask = (method: string, status: number) =>
    fetch(`${proxy.url}/proxy/fetch/${upstream.url}/${status}`, { method });
  const head = await ask("HEAD", 200);
  deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "5", ""]);
  for (const status of [204, 304]) {
    const response = await ask("GET", status);
    deepEqual([response.status, response.headers.get("x-seen"), await response.text()], [status, "yes", ""]);
  }
  equal(await (await ask("GET", 404)).text(), "hello");
  const odd = await ask("GET", 799);
  deepEqual([odd.status, odd.headers.get("portway-error")], [502, "upstream_not_http"]);
  await odd.body?.cancel();
});

Deno.test("proxy answers a preflight for whatever a page wants to send", async () => {
  await using proxy = await startTestProxy(ALLOW);
  const preflight = await fetch(`${proxy.url}/proxy/fetch/https://a.example/`, {
    method: "OPTIONS",
    headers: {
      "origin": "https://app.example",
      "access-control-request-method": "PROPFIND",
      "access-control-request-headers": "depth, x-own",
    },
  });
  equal(preflight.status, 204);
  match(preflight.headers.get("access-control-allow-methods") ?? "", /\bDELETE\b.*\bPROPFIND\b/);
  equal(preflight.headers.get("access-control-allow-headers"), "depth, x-own");
});

Deno.test("proxy checks a fetched request as any other: guard, origins, size, and a token in a header of its own", async () => {
  let shown = 0;
  await using upstream = startTestUpstream((request) => {
    if (request.headers.has("portway-token")) shown++;
    return new Response("reached");
  });
  await using proxy = await startTestProxy({
    ...ALLOW,
    proxyToken: "s3cret",
    proxyOrigins: "https://app.example",
    proxyMaxUploadBytes: "70000",
  });
  const ask = async (url: string, headers: Record<string, string>, body?: BodyInit) => {
    const response = await fetch(`${proxy.url}/proxy/fetch/${url}`, {
      headers,
      ...(body === undefined ? {} : { method: "POST", body }),
    });
    await response.body?.cancel();
    return `${response.status} ${response.headers.get("portway-error")}`;
  };
  const token = { "portway-token": "s3cret" };
  equal(await ask(upstream.url, {}), "401 token_required");
  equal(await ask(upstream.url, { authorization: "Bearer s3cret" }), "401 token_required");
  equal(await ask(upstream.url, { "portway-token": "other" }), "401 token_wrong");
  equal(await ask(upstream.url, token), "200 null");
  equal(await ask(upstream.url, { ...token, origin: "https://evil.example" }), "403 origin_forbidden");
  // A picture in a page of somebody else's: no Origin comes with it.
  const embedded = { ...token, "sec-fetch-site": "cross-site" };
  equal(await ask(upstream.url, { ...embedded, referer: "https://evil.example/" }), "403 origin_forbidden");
  equal(await ask(upstream.url, embedded), "403 origin_forbidden");
  equal(await ask(upstream.url, { ...embedded, referer: "https://app.example/" }), "200 null");
  equal(await ask("http://10.0.0.1/", token), "403 address_forbidden");
  equal(await ask("http://user:pass@127.0.0.1/", token), "400 url_invalid");
  equal(await ask("file:///etc/passwd", token), "400 url_invalid");
  equal(await ask(upstream.url, token, "x".repeat(70_001)), "413 body_too_large");
  equal(await ask(upstream.url, token, new Blob(["x".repeat(100_000)]).stream()), "413 body_too_large");
  equal(shown, 0);
});

Deno.test("proxy does not send on what belongs to the connection or what Connection names", async () => {
  await using upstream = startEcho();
  await using proxy = await startTestProxy(ALLOW);
  const answer = await rawRequest(
    Number(new URL(proxy.url).port),
    `GET /proxy/fetch/${upstream.url}/ HTTP/1.1\r\nHost: ${new URL(proxy.url).host}\r\n` +
      "Connection: close, x-hop\r\nX-Hop: 1\r\nTE: trailers\r\nX-Forwarded-For: 1.2.3.4\r\nX-Kept: 1\r\n\r\n",
  );
  const { headers } = JSON.parse(new TextDecoder().decode(answer.body));
  equal(headers["x-kept"], "1");
  for (const name of ["x-hop", "te", "x-forwarded-for"]) equal(headers[name], undefined, name);
});

Deno.test("proxy takes POST / for proxyscotch's, where it is alone", async () => {
  await using upstream = startEcho();
  await using proxy = await startTestProxy(ALLOW);
  const response = await fetch(proxy.url, {
    method: "POST",
    headers: { origin: "https://hoppscotch.example" },
    body: JSON.stringify({ method: "GET", url: upstream.url, accessToken: "", wantsBinary: false }),
  });
  const { success, status, data } = await response.json();
  deepEqual([success, status, JSON.parse(data).method], [true, 200, "GET"]);
  equal(response.headers.get("access-control-allow-origin"), "*");
});

Deno.test("proxy answers 502 that a page can read when an upstream breaks off right after its head, and logs it", async () => {
  const broken = {
    "/length": ["Content-Length: 10\r\n\r\n", "502 upstream_reset"],
    "/chunked": ["Transfer-Encoding: chunked\r\n\r\n", "502 upstream_reset"],
    "/chunk": ["Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", "502 upstream_not_http"],
  };
  await using upstream = startRawUpstream(async (connection, received) => {
    const fields = Object.entries(broken).find(([path]) => received.includes(` ${path} `))?.[1][0];
    await connection.write(new TextEncoder().encode(`HTTP/1.1 200 OK\r\n${fields}`));
    connection.close();
  });
  for (const listener of ["edge", "deno"]) {
    await using proxy = await startTestProxy({ ...ALLOW, openPaths: "true", listener });
    for (const [path, [, wanted]] of Object.entries(broken)) {
      const url = upstream.url + path, headers = { origin: "https://app.example" };
      const asked: [form: string, asked: Promise<Response>][] = [
        ["fetch", fetch(`${proxy.url}/proxy/fetch/${url}`, { headers })],
        ["open path", fetch(`${proxy.url}/${url}`, { headers })],
        ["streamed", proxy.request({ url, stream: true }, { headers })],
        ["described", proxy.request({ url }, { headers })],
      ];
      for (const [form, response] of asked) {
        const { status, headers, body } = await response;
        await body?.cancel();
        equal(`${status} ${headers.get("portway-error")}`, wanted, `${listener} ${form} ${path}`);
        equal(headers.get("access-control-allow-origin"), "*", `${listener} ${form} ${path}`);
        match(headers.get("access-control-expose-headers") ?? "", /portway-error/);
      }
    }
    const lines = proxy.log.filter((line) => line.includes("proxy_request"));
    equal(lines.length, 12);
    for (const line of lines) match(line, /status=502 error=upstream_(reset|not_http)/);
  }
});

Deno.test("proxy cuts a passed body that breaks off later and logs the reason, and passes a head on before its body", async () => {
  for (const listener of ["edge", "deno"]) {
    const released = Promise.withResolvers<void>();
    await using upstream = startRawUpstream(async (connection) => {
      await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"));
      await released.promise;
      connection.close();
    });
    await using proxy = await startTestProxy({ ...ALLOW, listener });
    const response = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/`);
    equal(response.status, 200, "the head comes although no body follows");
    released.resolve();
    await rejects(response.text());
    match(proxy.log.find((line) => line.includes("proxy_request")) ?? "", /status=200 error=upstream_reset/);
    equal(proxy.log.some((line) => line.includes("exchange_failed")), false);
  }
});

Deno.test("proxy answers 413 to a streamed answer without a length whose first chunk is beyond maxBytes", async () => {
  await using upstream = startTestUpstream(() => new Response(new Blob(["x".repeat(5000)]).stream()));
  await using proxy = await startTestProxy(ALLOW);
  const response = await proxy.request({ url: upstream.url, stream: true, maxBytes: 1000 });
  await response.body?.cancel();
  deepEqual([response.status, response.headers.get("portway-error")], [413, "answer_too_large"]);
  equal(response.headers.get("access-control-allow-origin"), "*");
});

Deno.test("proxy passes on no field that acts on this server's origin or on a front server, and shows it in portway-headers", async () => {
  const acting: [string, string][] = [
    ["www-authenticate", "Basic"],
    ["proxy-authenticate", "Basic"],
    ["secure-session-registration", '(ES256);path="/register"'],
    ["set-login", "logged-in"],
    ["use-as-dictionary", 'match="/*"'],
    ["speculation-rules", '"/rules.json"'],
    ["x-accel-redirect", "/internal/secret"],
    ["x-sendfile", "/etc/passwd"],
    ["x-lighttpd-send-file", "/etc/passwd"],
    ["x-reproxy-url", "http://127.0.0.1/"],
    ["surrogate-control", "max-age=9999"],
    ["some-field-of-tomorrow", "1"],
    ["set-cookie", "a=1; Path=/"],
    ["set-cookie", "b=\u00e9"],
  ];
  const harmless: [string, string][] = [["x-ratelimit-left", "3"], ["link", "<https://a.test/?page=2>; rel=next"]];
  await using upstream = startTestUpstream(() => new Response("x", { headers: [...acting, ...harmless] }));
  await using proxy = await startTestProxy(ALLOW);
  const { headers, body } = await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/`);
  await body?.cancel();
  for (const [name] of acting) equal(headers.get(name), null, name);
  for (const [name, value] of harmless) equal(headers.get(name), value, name);
  const shown: [string, string][] = JSON.parse(headers.get("portway-headers") ?? "[]");
  for (const [name, value] of acting) {
    ok(shown.some(([one, other]) => one.toLowerCase() === name && other === value), name);
  }
  match(headers.get("access-control-expose-headers") ?? "", /\bportway-headers\b/);
});

Deno.test("proxy sends fields that a page cannot set, from portway-headers, in place of the request's own", async () => {
  await using upstream = startEcho();
  await using proxy = await startTestProxy(ALLOW);
  const ask = (value: string) =>
    fetch(`${proxy.url}/proxy/fetch/${upstream.url}/`, { headers: { "portway-headers": value, "x-own": "1" } });
  const forced = { Cookie: "a=1", Origin: "https://mine.example", Referer: "https://mine.example/page", "X-Own": "2" };
  for (const value of [JSON.stringify(forced), JSON.stringify(Object.entries(forced))]) {
    const { headers } = await (await ask(value)).json();
    for (const [name, sent] of Object.entries(forced)) equal(headers[name.toLowerCase()], sent, name);
    equal(headers["portway-headers"], undefined);
  }
  for (const wrong of ["nonsense", "[1]", '{"a b": "1"}', '{"a": "1\\r\\nb: 2"}', '[["Host","a"],["Host","b"]]']) {
    const response = await ask(wrong);
    const { error } = await response.json();
    deepEqual([response.status, error.code, error.field], [400, "description_invalid", "portway-headers"], wrong);
  }
});

Deno.test("proxy takes a host without a scheme behind its address with --open-paths, as cors-anywhere does", async () => {
  await using upstream = startEcho();
  const { host, port } = new URL(upstream.url);
  await using proxy = await startTestProxy({ ...ALLOW, openPaths: "true" });
  for (const path of [`/${host}/p?a=1`, `/localhost:${port}/p?a=1`]) {
    const echoed = await (await fetch(proxy.url + path)).json();
    match(echoed.url, /^http:\/\/(127\.0\.0\.1|localhost):\d+\/p\?a=1$/);
  }
  for (const path of ["/favicon.ico", "/robots.txt", "/apple-touch-icon.png", "/nothing", "/.env", "/index.html"]) {
    const response = await fetch(proxy.url + path);
    await response.body?.cancel();
    equal(response.headers.get("portway-error"), "not_found", path);
  }
  equal(readFetchUrl("/example.com:443/a").href, "https://example.com/a");
  equal(readFetchUrl("/example.com:8080?x").href, "http://example.com:8080/?x");
  equal(readFetchUrl("/example.com").href, "http://example.com/");
});
