import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import * as zlib from "node:zlib";
import { startRawUpstream, startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1" };

/** Tells what it was sent, as a JSON text. */
async function echo(request: Request): Promise<Response> {
  const url = new URL(request.url);
  return Response.json({
    method: request.method,
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
    body: await request.text(),
  });
}

interface Echoed {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

async function readEcho(response: Response): Promise<Echoed> {
  equal(response.status, 200);
  return JSON.parse((await response.json()).body);
}

async function readError(response: Response): Promise<string> {
  const text = await response.text();
  ok(response.headers.get("portway-error"), text);
  return `${response.status} ${response.headers.get("portway-error")}`;
}

Deno.test("proxy sends method, query, headers and text body as described", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const echoed = await readEcho(
    await proxy.request({
      method: "patch",
      url: `${upstream.url}/a%2Fb?x=1#gone`,
      query: { y: "2", z: ["3", 4] },
      headers: { "X-One": "1", "X-Two": ["a", "b"], "Connection": "close", "Content-Length": "999" },
      body: { text: "grüße" },
    }),
  );
  equal(echoed.method, "PATCH");
  equal(echoed.path, "/a%2Fb?x=1&y=2&z=3&z=4");
  equal(echoed.headers["x-one"], "1");
  equal(echoed.headers["x-two"], "a, b");
  equal(echoed.body, "grüße");
  match(echoed.headers["user-agent"], /^Portway\//);
  match(echoed.headers.via, /^1\.1 portway-[0-9a-f]+ \(127\.0\.0\.1:\d+\)$/);
});

Deno.test("proxy takes headers and query as pairs, a JSON body, a base64 body and a bare text", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const url = upstream.url;
  const json = await readEcho(
    await proxy.request({
      url,
      headers: [["A", "1"], ["A", "2"]],
      query: [["q", 1], ["q", true]],
      body: { json: [1] },
    }),
  );
  deepEqual([json.method, json.body, json.headers["content-type"], json.headers.a, json.path], [
    "POST",
    "[1]",
    "application/json",
    "1, 2",
    "/?q=1&q=true",
  ]);
  equal((await readEcho(await proxy.request({ url, method: "PUT", body: { base64: "AAEC/w==" } }))).body.length, 4);
  equal((await readEcho(await proxy.request({ url, body: "plain" }))).body, "plain");
});

Deno.test("proxy sends basic and bearer credentials", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const url = upstream.url;
  const basic = { type: "basic", username: "me", password: "pä:ss" };
  const echoed = await readEcho(await proxy.request({ url, auth: basic, headers: { authorization: "old" } }));
  equal(echoed.headers.authorization, `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode("me:pä:ss")))}`);
  const bearer = await readEcho(await proxy.request({ url, auth: { type: "bearer", token: "t0k" } }));
  equal(bearer.headers.authorization, "Bearer t0k");
});

Deno.test("proxy describes the answer with ordered headers, several cookies, timings and sizes", async () => {
  await using upstream = startRawUpstream(async (connection) => {
    const body = "hello";
    await connection.write(new TextEncoder().encode(
      `HTTP/1.1 299 Odd One\r\nSet-Cookie: a=1\r\nX-Z: z\r\nset-cookie: b=2\r\nX-Raw: caf\xe9\r\n` +
        `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ));
  });
  await using proxy = await startTestProxy(ALLOW);
  const response = await proxy.request({ url: upstream.url });
  equal(response.headers.get("set-cookie"), null);
  match(response.headers.get("content-security-policy") ?? "", /sandbox/);
  equal(response.headers.get("x-content-type-options"), "nosniff");
  const answer = await response.json();
  equal(answer.status, 299);
  equal(answer.statusText, "Odd One");
  deepEqual(answer.headers.slice(0, 3), [["Set-Cookie", "a=1"], ["X-Z", "z"], ["set-cookie", "b=2"]]);
  deepEqual([answer.body, answer.isBase64], ["hello", false]);
  equal(answer.finalUrl, `${upstream.url}/`);
  deepEqual(answer.redirects, []);
  for (const name of ["dnsMs", "connectMs", "firstByteMs", "totalMs"]) {
    equal(typeof answer.timings[name], "number", name);
  }
  ok(answer.timings.connectMs > 0 && answer.timings.totalMs >= answer.timings.firstByteMs);
  equal(answer.size.body, 5);
  ok(answer.size.headers > 50);
});

Deno.test("proxy undoes gzip, br, deflate, bare deflate and zstd, and leaves what it does not know", async () => {
  const text = "compress me ".repeat(100);
  const encoders: Record<string, (text: string) => Uint8Array> = {
    gzip: (one) => zlib.gzipSync(one),
    br: (one) => zlib.brotliCompressSync(one),
    deflate: (one) => zlib.deflateSync(one),
    bare: (one) => zlib.deflateRawSync(one),
    zstd: (one) => zlib.zstdCompressSync(one),
    none: (one) => new TextEncoder().encode(one),
  };
  await using upstream = startTestUpstream((request) => {
    const name = new URL(request.url).pathname.slice(1);
    const encoding = { bare: "deflate", none: "rot13" }[name] ?? name;
    const headers = { "content-encoding": encoding, "content-type": "text/plain" };
    return new Response(new Uint8Array(encoders[name](text)), { headers });
  });
  await using proxy = await startTestProxy(ALLOW);
  for (const name of Object.keys(encoders)) {
    const answer = await (await proxy.request({ url: `${upstream.url}/${name}` })).json();
    equal(answer.body, text, name);
    equal(answer.size.body, text.length, name);
    if (name !== "none") ok(answer.size.transferred < text.length, name);
  }
});

Deno.test("proxy gives bytes as padded base64, text in its charset, and either when told so", async () => {
  await using upstream = startTestUpstream((request) => {
    const type = new URL(request.url).searchParams.get("type") ?? "";
    return new Response(new Uint8Array([0x63, 0xe9, 0xff, 0x00]), { headers: { "content-type": type } });
  });
  await using proxy = await startTestProxy(ALLOW);
  const ask = async (type: string, more = {}) => {
    const answer = await (await proxy.request({ url: upstream.url, query: { type }, ...more })).json();
    return [answer.body, answer.isBase64];
  };
  deepEqual(await ask("image/png"), ["Y+n/AA==", true]);
  deepEqual(await ask("text/plain"), ["Y+n/AA==", true]);
  deepEqual(await ask("text/plain; charset=iso-8859-1"), ["céÿ\0", false]);
  deepEqual(await ask("image/png", { responseType: "text" }), ["c\ufffd\ufffd\0", false]);
  deepEqual(await ask("text/plain; charset=iso-8859-1", { responseType: "base64" }), ["Y+n/AA==", true]);
});

Deno.test("proxy follows redirects as browsers do, and tells the hops", async () => {
  await using upstream = startTestUpstream(async (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/end") return await echo(request);
    return new Response(null, { status: Number(url.pathname.slice(1)), headers: { location: "/end" } });
  });
  await using proxy = await startTestProxy(ALLOW);
  for (
    const [status, method, body] of [[301, "GET", ""], [302, "GET", ""], [303, "GET", ""], [307, "POST", "x"], [
      308,
      "POST",
      "x",
    ]]
  ) {
    const response = await proxy.request({
      url: `${upstream.url}/${status}`,
      method: "POST",
      body: "x",
      headers: { "content-type": "a/b" },
    });
    const answer = await response.json();
    const echoed: Echoed = JSON.parse(answer.body);
    deepEqual([echoed.method, echoed.body], [method, body], String(status));
    equal(echoed.headers["content-type"], method === "GET" ? undefined : "a/b", String(status));
    equal(answer.finalUrl, `${upstream.url}/end`);
    deepEqual(answer.redirects, [{
      status,
      url: `${upstream.url}/${status}`,
      location: `${upstream.url}/end`,
      setCookie: [],
    }]);
  }
  const manual = await (await proxy.request({ url: `${upstream.url}/302`, redirect: "manual" })).json();
  deepEqual([manual.status, manual.redirects], [302, []]);
  equal(
    await readError(await proxy.request({ url: `${upstream.url}/302`, redirect: "error" })),
    "502 redirect_refused",
  );
  equal(
    await readError(await proxy.request({ url: `${upstream.url}/302`, maxRedirects: 0 })),
    "502 too_many_redirects",
  );
});

Deno.test("proxy drops credentials on a redirect to another origin, and keeps them on one to the same", async () => {
  await using other = startTestUpstream(echo);
  await using upstream = startTestUpstream(async (request) => {
    const url = new URL(request.url);
    const to = url.searchParams.get("to");
    return to === null ? await echo(request) : new Response(null, { status: 302, headers: { location: to } });
  });
  await using proxy = await startTestProxy(ALLOW);
  const headers = { Authorization: "secret", Cookie: "a=b", Host: "virtual.test", "X-Kept": "1" };
  const away = await readEcho(await proxy.request({ url: upstream.url, query: { to: `${other.url}/` }, headers }));
  deepEqual([away.headers.authorization, away.headers.cookie, away.headers["x-kept"]], [undefined, undefined, "1"]);
  equal(away.headers.host, new URL(other.url).host);
  const home = await readEcho(await proxy.request({ url: upstream.url, query: { to: "/" }, headers }));
  deepEqual([home.headers.authorization, home.headers.cookie, home.headers.host], ["secret", "a=b", "virtual.test"]);
});

Deno.test("proxy ends what takes too long with 504, also between head and body", async () => {
  const held: Deno.TcpConn[] = [];
  await using upstream = startRawUpstream(async (connection, received) => {
    held.push(connection);
    if (received.startsWith("GET /slow-body")) {
      await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    }
  });
  await using proxy = await startTestProxy(ALLOW);
  for (const path of ["/silent", "/slow-body"]) {
    const response = await proxy.request({ url: upstream.url + path, timeoutMs: 80 });
    equal(await readError(response), "504 upstream_timeout", path);
  }
  for (const connection of held) connection.close();
  // What an upstream does, and so anybody may have it do, is no defect of ours.
  equal(proxy.log.join("\n").includes("exchange_failed"), false, proxy.log.join("\n"));
});

Deno.test("proxy tells refused, reset, broken off and not HTTP apart, each as 502", async () => {
  await using proxy = await startTestProxy(ALLOW);
  const free = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = free.addr;
  free.close();
  equal(await readError(await proxy.request({ url: `http://127.0.0.1:${port}/` })), "502 upstream_refused");
  const cases: [string, string][] = [
    ["", "502 upstream_reset"],
    ["SSH-2.0-OpenSSH_9.2\r\n", "502 upstream_not_http"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "502 upstream_reset"],
    ["HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "502 upstream_not_http"],
    ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz", "502 upstream_bad_encoding"],
  ];
  for (const [reply, wanted] of cases) {
    await using upstream = startRawUpstream(async (connection) => {
      await connection.write(new TextEncoder().encode(reply));
      connection.close();
    });
    equal(await readError(await proxy.request({ url: upstream.url, method: "POST" })), wanted, reply);
  }
});

Deno.test("proxy refuses answers larger than maxBytes, announced or not, packed or not", async () => {
  await using upstream = startTestUpstream((request) => {
    const path = new URL(request.url).pathname;
    const bytes = new Uint8Array(5000);
    if (path === "/bomb") {
      return new Response(new Uint8Array(zlib.gzipSync(bytes)), { headers: { "content-encoding": "gzip" } });
    }
    return new Response(path === "/chunked" ? new Blob([bytes]).stream() : bytes);
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyMaxBytes: "4000" });
  for (const path of ["/announced", "/chunked", "/bomb"]) {
    equal(await readError(await proxy.request({ url: upstream.url + path })), "413 answer_too_large", path);
    equal(
      await readError(await proxy.request({ url: upstream.url + path, maxBytes: 1e9 })),
      "413 answer_too_large",
      path,
    );
  }
  const streamed = await proxy.request({ url: `${upstream.url}/chunked`, stream: true });
  equal((await streamed.bytes()).length, 5000);
  const capped = await proxy.request({ url: `${upstream.url}/announced`, stream: true, maxBytes: 10 });
  equal(await readError(capped), "413 answer_too_large");
});

Deno.test("proxy streams bytes as they come, with the rest of the answer in headers", async () => {
  const gate = Promise.withResolvers<void>();
  await using upstream = startTestUpstream(() => {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encoder.encode("data: one\n\n"));
        await gate.promise;
        controller.enqueue(encoder.encode("data: two\n\n"));
        controller.close();
      },
    });
    const headers = { "content-type": "text/event-stream", "set-cookie": "a=1" };
    return new Response(body, { status: 202, headers });
  });
  await using proxy = await startTestProxy(ALLOW);
  const response = await proxy.request({ url: upstream.url, stream: true });
  equal(response.status, 200);
  equal(response.headers.get("content-type"), "text/event-stream");
  equal(response.headers.get("set-cookie"), null);
  equal(response.headers.get("portway-status"), "202");
  equal(response.headers.get("portway-final-url"), `${upstream.url}/`);
  ok(JSON.parse(response.headers.get("portway-headers") ?? "").some(([name]: [string]) => name === "set-cookie"));
  ok(JSON.parse(response.headers.get("portway-timings") ?? "").firstByteMs >= 0);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  equal((await reader.read()).value, "data: one\n\n");
  gate.resolve();
  equal((await reader.read()).value, "data: two\n\n");
  equal((await reader.read()).done, true);
});

Deno.test("proxy streams with the length that the upstream announced, and none for a body that is not sent", async () => {
  await using upstream = startTestUpstream(() => new Response("12345", { headers: { "content-type": "text/plain" } }));
  await using proxy = await startTestProxy(ALLOW);
  const get = await proxy.request({ url: upstream.url, stream: true });
  deepEqual([get.headers.get("content-length"), await get.text()], ["5", "12345"]);
  const head = await proxy.request({ url: upstream.url, stream: true, method: "HEAD" });
  equal(await head.text(), "");
  equal(
    JSON.parse(head.headers.get("portway-headers") ?? "").find(([name]: [string]) => name === "content-length")[1],
    "5",
  );
});

Deno.test("proxy tells a status that HTTP has no meaning for as it is", async () => {
  await using upstream = startRawUpstream(async (connection) => {
    await connection.write(new TextEncoder().encode("HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\n\r\nno"));
    connection.close();
  });
  await using proxy = await startTestProxy(ALLOW);
  const answer = await (await proxy.request({ url: upstream.url, responseType: "text" })).json();
  deepEqual([answer.status, answer.statusText, answer.body], [999, "Request denied", "no"]);
  const streamed = await proxy.request({ url: upstream.url, stream: true });
  deepEqual([streamed.status, streamed.headers.get("portway-status"), await streamed.text()], [200, "999", "no"]);
});

Deno.test("proxy streams no length with an answer that has no body by its status, whatever the upstream says", async () => {
  await using upstream = startRawUpstream(async (connection, received) => {
    const status = received.split(" ")[1].slice(1);
    await connection.write(new TextEncoder().encode(`HTTP/1.1 ${status} X\r\nContent-Length: 5\r\n\r\n`));
    connection.close();
  });
  for (const listener of ["edge", "deno"]) {
    await using proxy = await startTestProxy({ ...ALLOW, listener });
    for (const status of ["204", "304"]) {
      const response = await proxy.request({ url: `${upstream.url}/${status}`, stream: true });
      deepEqual([await response.text(), response.headers.get("portway-status")], ["", status]);
      deepEqual(JSON.parse(response.headers.get("portway-headers") ?? ""), [["Content-Length", "5"]]);
    }
  }
});

Deno.test("proxy lets go of the upstream when its caller goes away", async () => {
  const gone = Promise.withResolvers<void>();
  await using upstream = startTestUpstream(() =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(10)),
        cancel: () => gone.resolve(),
      }),
    )
  );
  await using proxy = await startTestProxy(ALLOW);
  const caller = new AbortController();
  const response = await proxy.request({ url: upstream.url, stream: true }, { signal: caller.signal });
  await response.body!.getReader().read();
  caller.abort();
  await gone.promise;
});

Deno.test("proxy lets go of an upstream that has not answered when its caller goes away", async () => {
  const gone = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(async (connection) => {
    asked.resolve();
    // Nothing is ever answered: what ends this read is the proxy's end of the connection.
    await connection.read(new Uint8Array(1)).catch(() => null);
    gone.resolve();
    connection.close();
  });
  await using proxy = await startTestProxy(ALLOW);
  const caller = new AbortController();
  const answer = proxy.request({ url: upstream.url }, { signal: caller.signal }).catch(() => null);
  await asked.promise;
  caller.abort();
  await gone.promise;
  await answer;
});

Deno.test("proxy names the field that is wrong, and repeats no value", async () => {
  await using proxy = await startTestProxy();
  const url = "http://example.com/";
  const cases: [unknown, string][] = [
    [{}, "url"],
    [{ url: "nonsense" }, "url"],
    [{ url: 5 }, "url"],
    [{ url, method: "S E C R E T" }, "method"],
    [{ url, method: "CONNECT" }, "method"],
    [{ url, headers: { "a b": "SECRET" } }, "headers.a b"],
    [{ url, headers: { a: "SECRET\r\nX: y" } }, "headers.a"],
    [{ url, headers: [["a", "SECRET\0"]] }, "headers.0.1"],
    [{ url, headers: { a: "SECRET\u010d\u010aX: y" } }, "headers.a"],
    [{ url, headers: { "a\r\nb": "SECRET" } }, "headers.a\r\nb"],
    [{ url, method: "GET / HTTP/1.1\r\nX:" }, "method"],
    [{ url, auth: { type: "bearer", token: "SECRET\r\nX: y" } }, "auth.token"],
    [{ url, query: { a: { SECRET: 1 } } }, "query.a"],
    [{ url, body: { base64: "SECRET!" } }, "body.base64"],
    [{ url, auth: { type: "basic", username: "SECRET" } }, "auth.password"],
    [{ url, redirect: "SECRET" }, "redirect"],
    [{ url, timeoutMs: "SECRET" }, "timeoutMs"],
    [{ url, timeoutMs: 0 }, "timeoutMs"],
    [{ url, maxRedirects: 21 }, "maxRedirects"],
    [{ url, stream: "SECRET" }, "stream"],
    [{ url, unknownOne: "SECRET" }, "unknownOne"],
  ];
  for (const [description, field] of cases) {
    const response = await proxy.request(description);
    const text = await response.text();
    equal(response.status, 400, text);
    equal(response.headers.get("portway-error"), "description_invalid", text);
    equal(JSON.parse(text).error.field, field, text);
    ok(!text.includes("SECRET"), text);
  }
  const broken = await proxy.request(null, { body: '{"token": SECRET}' });
  ok(!(await broken.clone().text()).includes("SECRET"));
  equal(await readError(broken), "400 json_invalid");
  equal(await readError(await proxy.request([1])), "400 description_invalid");
});

Deno.test("proxy sends headers about framing and connections as they are here, whatever is described", async () => {
  let received = "";
  await using upstream = startRawUpstream(async (connection, text) => {
    received = text;
    await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    connection.close();
  });
  await using proxy = await startTestProxy(ALLOW);
  const names = [
    "Transfer-Encoding",
    "Content-Length",
    "Connection",
    "Upgrade",
    "TE",
    "Trailer",
    "Expect",
    "Keep-Alive",
  ];
  const headers = [...names.map((name) => [name, "chunked, 100-continue"]), ["X-Line", "a\tb"]];
  await proxy.request({ url: `${upstream.url}/a\r\nX:%0d%0ay?\nz`, method: "POST", headers, body: "four" });
  const [head, body] = received.split("\r\n\r\n");
  const [line, ...fields] = head.split("\r\n");
  equal(line, "POST /aX:%0d%0ay?z HTTP/1.1");
  const described = fields.map((field) => field.split(":", 1)[0]);
  deepEqual(described, ["Host", "X-Line", "User-Agent", "Accept", "Accept-Encoding", "Via", "Content-Length"]);
  match(head, /\r\nX-Line: a\tb\r\n/);
  match(head, /\r\nContent-Length: 4$/);
  equal(body, "four");
});

Deno.test("proxy breaks a streamed answer off where the upstream did, or time did, and never ends it cleanly", async () => {
  const held: Deno.TcpConn[] = [];
  const cases = [
    ["a length", "Content-Length: 10\r\n\r\nhalf", true],
    ["chunks", "Transfer-Encoding: chunked\r\n\r\n5\r\nhalf", true],
    ["time, with no length", "\r\nhalf", false],
  ] as const;
  await using proxy = await startTestProxy({ ...ALLOW, streamIdleSeconds: "1" });
  for (const [what, rest, closes] of cases) {
    await using upstream = startRawUpstream(async (connection) => {
      await connection.write(new TextEncoder().encode(`HTTP/1.1 200 OK\r\n${rest}`));
      if (closes) connection.close();
      else held.push(connection);
    });
    const response = await proxy.request({ url: upstream.url, stream: true });
    equal(response.status, 200);
    await rejects(response.text(), Error, what);
  }
  for (const connection of held) connection.close();
  // What an upstream does, and so anybody may have it do, is no defect of ours.
  equal(proxy.log.join("\n").includes("exchange_failed"), false, proxy.log.join("\n"));
});
