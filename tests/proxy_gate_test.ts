import { deepEqual, equal, match, ok } from "node:assert/strict";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1" };

Deno.test("GET / tells name, version, endpoints and project, as text or as a page", async () => {
  await using proxy = await startTestProxy();
  const text = await (await fetch(proxy.url)).text();
  match(text, /^Portway proxy\nVersion: \S+\n/);
  for (const path of ["GET   /health", "POST  /proxy/request", "POST  /proxy/form"]) ok(text.includes(path), path);
  ok(!text.includes("/proxy/files"));
  const page = await fetch(proxy.url, { headers: { accept: "text/html,*/*" } });
  equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  match(await page.text(), /<h1>Portway proxy<\/h1>/);
});

Deno.test("GET /health answers, and unknown paths are 404", async () => {
  await using proxy = await startTestProxy();
  equal((await (await fetch(`${proxy.url}/health`)).json()).status, "ok");
  for (const path of ["/proxy/nothing", "/elsewhere"]) {
    const response = await fetch(proxy.url + path);
    deepEqual([response.status, response.headers.get("portway-error")], [404, "not_found"]);
    await response.body?.cancel();
  }
});

Deno.test("every endpoint of the proxy answers CORS, preflight included, for any origin on loopback", async () => {
  await using proxy = await startTestProxy();
  for (const path of ["/", "/health", "/proxy/request", "/proxy/form", "/proxy/files/x"]) {
    const preflight = await fetch(proxy.url + path, {
      method: "OPTIONS",
      headers: {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, x-own",
        "access-control-request-private-network": "true",
      },
    });
    equal(preflight.status, 204, path);
    equal(preflight.headers.get("access-control-allow-origin"), "*", path);
    match(preflight.headers.get("access-control-allow-methods") ?? "", /POST/);
    equal(preflight.headers.get("access-control-allow-headers"), "content-type, x-own", path);
    equal(preflight.headers.get("access-control-allow-private-network"), "true", path);
    const answer = await fetch(proxy.url + path, { headers: { origin: "https://app.example" } });
    equal(answer.headers.get("access-control-allow-origin"), "*", path);
    await answer.body?.cancel();
  }
});

Deno.test("proxy lets listed origins and its own in, and refuses others without asking the upstream", async () => {
  await using upstream = startTestUpstream(() => new Response("ok"));
  await using proxy = await startTestProxy({ ...ALLOW, proxyOrigins: "https://app.example, null" });
  const ask = async (origin: string) => {
    const response = await proxy.request({ url: upstream.url }, { headers: { origin } });
    await response.body?.cancel();
    return [
      response.status,
      response.headers.get("access-control-allow-origin"),
      response.headers.get("portway-error"),
    ];
  };
  deepEqual(await ask("https://app.example"), [200, "https://app.example", null]);
  deepEqual(await ask("null"), [200, "null", null]);
  deepEqual(await ask(proxy.url), [200, proxy.url, null]);
  equal(upstream.requests.length, 3);
  for (
    const origin of ["https://evil.example", "https://app.example.evil", "http://app.example", "https://app.example:1"]
  ) {
    deepEqual(await ask(origin), [403, null, "origin_forbidden"], origin);
  }
  equal(upstream.requests.length, 3);
  const preflight = await fetch(`${proxy.url}/proxy/request`, {
    method: "OPTIONS",
    headers: { "origin": "https://evil.example", "access-control-request-method": "POST" },
  });
  deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [403, null]);
});

Deno.test("proxy takes its configured URL and addresses for its own origin, and no name that was made to lead here", async () => {
  for (const proxyOrigins of ["https://app.example", ""]) {
    await using proxy = await startTestProxy({
      host: "0.0.0.0",
      url: "https://tunnel.example.com",
      proxyOrigins,
    });
    const { port } = new URL(proxy.url);
    const ask = async (host: string, origin: string) => {
      const head = `POST /proxy/request HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nContent-Length: 2\r\n\r\n{}`;
      return /^access-control-allow-origin: (.*)\r$/im.exec(await sendRaw(proxy.url, head))?.[1];
    };
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `192.0.2.7:${port}`]) {
      equal(await ask(host, `http://${host}`), `http://${host}`);
      equal(await ask(host, `http://evil.example:${port}`), undefined);
    }
    equal(await ask("tunnel.example.com", "https://tunnel.example.com"), "https://tunnel.example.com");
    for (const host of [`evil.example:${port}`, "tunnel.example.com.evil.example", "tunnel.example.com"]) {
      equal(await ask(host, `http://${host}`), undefined, host);
    }
  }
});

Deno.test("proxy refuses files to pages whose name was made to lead here, which do not say their origin", async () => {
  await using proxy = await startTestProxy({
    host: "0.0.0.0",
    url: "https://tunnel.example.com",
    proxyOrigins: "http://nas.lan",
    proxyFiles: "docs",
  });
  const ask = async (host: string) => {
    const answer = await sendRaw(
      proxy.url,
      `GET /proxy/files/none HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`,
    );
    return /^portway-error: (.*)\r$/m.exec(answer)?.[1];
  };
  for (const host of ["tunnel.example.com", "nas.lan", "localhost:80", "127.0.0.1"]) {
    equal(await ask(host), "not_found", host);
  }
  equal(await ask("evil.example"), "origin_forbidden");
});

Deno.test("proxy allows no foreign origin by default when it listens on more than loopback", async () => {
  await using proxy = await startTestProxy({ host: "0.0.0.0" });
  const response = await proxy.request({ url: "http://10.0.0.1/" }, { headers: { origin: "https://app.example" } });
  equal(response.headers.get("portway-error"), "origin_forbidden");
  await response.body?.cancel();
});

Deno.test("proxy wants its token on every path that does work, and never logs it", async () => {
  await using upstream = startTestUpstream(() => new Response("ok"));
  await using proxy = await startTestProxy({
    ...ALLOW,
    proxyToken: "s3cret-token",
    logLevel: "debug",
    proxyFiles: "docs",
  });
  const ask = async (headers: Record<string, string>) => {
    const response = await proxy.request({ url: upstream.url }, { headers });
    await response.body?.cancel();
    return `${response.status} ${response.headers.get("portway-error")}`;
  };
  equal(await ask({}), "401 token_required");
  equal(await ask({ authorization: "Bearer wrong" }), "401 token_wrong");
  equal(await ask({ authorization: "Bearer s3cret-token" }), "200 null");
  const form = new FormData();
  form.set("request", JSON.stringify({ url: upstream.url }));
  const noToken = await fetch(`${proxy.url}/proxy/form`, { method: "POST", body: form });
  equal(noToken.headers.get("portway-error"), "token_required");
  await noToken.body?.cancel();
  const files = await fetch(`${proxy.url}/proxy/files/configuration.md`);
  equal(files.headers.get("portway-error"), "token_required");
  await files.body?.cancel();
  equal(upstream.requests.length, 1);
  ok(!proxy.log.join("\n").includes("s3cret-token"));
});

Deno.test("proxy limits requests a minute and address with 429 and Retry-After", async () => {
  await using proxy = await startTestProxy({ proxyRequestsPerMinute: "2" });
  const codes: (string | null)[] = [];
  for (let i = 0; i < 3; i++) {
    const response = await proxy.request({ url: "http://10.0.0.1/" });
    codes.push(response.headers.get("portway-error"));
    if (i === 2) ok(Number(response.headers.get("retry-after")) > 0);
    await response.body?.cancel();
  }
  deepEqual(codes, ["address_forbidden", "address_forbidden", "too_many_requests"]);
});

Deno.test("proxy carries out no more requests at a time than it may", async () => {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await using upstream = startTestUpstream(async () => {
    arrived.resolve();
    await release.promise;
    return new Response("ok");
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyMaxRequests: "1" });
  const first = proxy.request({ url: upstream.url });
  await arrived.promise;
  const second = await proxy.request({ url: upstream.url });
  deepEqual([second.status, second.headers.get("portway-error")], [503, "busy"]);
  await second.body?.cancel();
  release.resolve();
  equal((await first).status, 200);
  await (await first).body?.cancel();
  const third = await proxy.request({ url: upstream.url });
  equal(third.status, 200);
  await third.body?.cancel();
});

Deno.test("proxy answers a loop through itself with the exact 508 of the specification", async () => {
  // An upstream that sends whatever it gets back to the proxy, as a reverse proxy in a circle would.
  let proxyUrl = "";
  await using upstream = startTestUpstream(async (request) => {
    const response = await fetch(`${proxyUrl}/proxy/request`, {
      method: "POST",
      headers: { via: request.headers.get("via") ?? "" },
      body: JSON.stringify({ url: request.url }),
    });
    return new Response(response.body, { status: response.status, headers: { "content-type": "application/json" } });
  });
  await using proxy = await startTestProxy(ALLOW);
  proxyUrl = proxy.url;
  const outer = await (await proxy.request({ url: upstream.url })).json();
  equal(outer.status, 508);
  const { error, ...rest } = JSON.parse(outer.body);
  deepEqual(rest, {});
  deepEqual(Object.keys(error), ["code", "message", "details"]);
  equal(error.code, 508);
  equal(
    error.details,
    `The request has come back to this proxy after 1 turn: this proxy -> 127.0.0.1:${upstream.port} -> this proxy.`,
  );
  equal(upstream.requests.length, 1);
});

Deno.test("proxy names the stations of a circle that goes through others, and counts its turns", async () => {
  let via = "";
  await using upstream = startTestUpstream((request) => {
    via = request.headers.get("via") ?? "";
    return new Response("ok");
  });
  await using proxy = await startTestProxy(ALLOW);
  const details = async (received: string) => {
    const response = await proxy.request({ url: upstream.url }, { headers: { via: received } });
    return (await response.json()).error.details;
  };
  await (await proxy.request({ url: upstream.url })).body?.cancel();
  const host = `127.0.0.1:${upstream.port}`;
  equal(
    await details(`1.0 first, ${via}, 1.1 edge.example (nginx), ${via}, HTTP/2 cdn-7`),
    `The request has come back to this proxy after 2 turns: this proxy -> ${host} -> cdn-7 -> this proxy.`,
  );
  const long = await details(`${via}, ${Array.from({ length: 500 }, (_, i) => `1.1 hop${i}`).join(", ")}`);
  match(long, /hop7 -> … -> this proxy\.$/);
  match(await details(`${via}, ${"x".repeat(20_000)}, 1.1 a (b, c)`), /1 turn: this proxy -> .* -> a -> this proxy\.$/);
});

Deno.test("HEAD of / and /health has the length of GET, and no body", async () => {
  await using proxy = await startTestProxy();
  for (const path of ["/", "/health", "/api/v1/openapi.json"]) {
    for (const accept of ["*/*", "text/html"]) {
      const full = await fetch(proxy.url + path, { headers: { accept } });
      const length = String(new TextEncoder().encode(await full.text()).length);
      const head = await fetch(proxy.url + path, { method: "HEAD", headers: { accept } });
      deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, length, ""], path);
      equal(head.headers.get("content-type"), full.headers.get("content-type"));
    }
  }
});

Deno.test("pages of listed origins may use the proxy in credentials mode, and no others", async () => {
  await using proxy = await startTestProxy({ proxyOrigins: "https://app.example, null" });
  const ask = async (origin: string, init: RequestInit, path = "/proxy/request") => {
    const response = await fetch(proxy.url + path, {
      ...init,
      headers: { origin, "access-control-request-method": "POST" },
    });
    await response.body?.cancel();
    return ["allow-origin", "allow-credentials"].map((name) => response.headers.get(`access-control-${name}`));
  };
  for (const init of [{ method: "OPTIONS" }, { method: "POST", body: "{}" }, {}]) {
    for (const path of ["/proxy/request", "/health", "/proxy/fetch/http://10.0.0.1/"]) {
      deepEqual(await ask("https://app.example", init, path), ["https://app.example", "true"], path);
    }
    deepEqual(await ask("null", init), ["null", null]);
    deepEqual(await ask("https://evil.example", init), [null, null]);
  }
  await using open = await startTestProxy({ proxyOrigins: "*, https://app.example" });
  for (
    const [origin, wanted] of [["https://app.example", "https://app.example true"], ["https://other.example", "* null"]]
  ) {
    const response = await fetch(`${open.url}/health`, { headers: { origin } });
    const { headers } = response;
    equal(`${headers.get("access-control-allow-origin")} ${headers.get("access-control-allow-credentials")}`, wanted);
    equal(headers.get("vary"), "Origin");
    await response.body?.cancel();
  }
});

Deno.test("proxy logs one line a request that says what was done, and no secret", async () => {
  await using upstream = startTestUpstream((request) => {
    const { pathname } = new URL(request.url);
    return pathname === "/hop"
      ? new Response(null, { status: 302, headers: { location: "/end?code=c0de" } })
      : new Response("12345678");
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyToken: "t0ken", logFormat: "json" });
  const auth = { authorization: "Bearer t0ken" };
  const path = "/bot123456:AAE-secretsecretsecret/hop";
  const ask = async (description: Record<string, unknown>, headers: Record<string, string> = auth) =>
    await (await proxy.request(description, { headers })).text();
  await ask({ url: `${upstream.url}/hop?api_key=qu3ry&flag` });
  await ask({ url: `${upstream.url}${path}?k3y`, method: "PUT", headers: { "x-key": "h3ader" } });
  await ask({ url: upstream.url, stream: true });
  await ask({ url: "http://10.0.0.1/" });
  await ask({ url: upstream.url }, {});
  await (await fetch(`${proxy.url}/proxy/fetch/${upstream.url}/p?x=1`, { headers: { "portway-token": "t0ken" } }))
    .text();
  const lines = proxy.log.map((line) => JSON.parse(line));
  deepEqual(
    lines.map(({ time: _, level, ms, address, ...rest }) => {
      deepEqual([level, typeof ms, address], ["info", "number", "127.0.0.1"]);
      return rest;
    }),
    [
      {
        event: "proxy_request",
        path: "/proxy/request",
        method: "GET",
        upstream: `${upstream.url}/hop?api_key&*`,
        status: 200,
        redirects: 1,
        bytes: 8,
      },
      {
        event: "proxy_request",
        path: "/proxy/request",
        method: "PUT",
        upstream: `${upstream.url}/*/hop?*`,
        status: 200,
        bytes: 8,
      },
      {
        event: "proxy_request",
        path: "/proxy/request",
        method: "GET",
        upstream: `${upstream.url}/`,
        status: 200,
        bytes: 8,
      },
      {
        event: "proxy_request",
        path: "/proxy/request",
        method: "GET",
        upstream: "http://10.0.0.1/",
        status: 403,
        error: "address_forbidden",
        bytes: 0,
      },
      { event: "proxy_request", path: "/proxy/request", status: 401, error: "token_required", bytes: 0 },
      {
        event: "proxy_request",
        path: "/proxy/fetch",
        method: "GET",
        upstream: `${upstream.url}/p?x`,
        status: 200,
        bytes: 8,
      },
    ],
  );
  const all = proxy.log.join("\n");
  for (const secret of ["t0ken", "qu3ry", 'k3y"', "h3ader", "secretsecret", "c0de"]) ok(!all.includes(secret), secret);
});

Deno.test("proxy answers expectations it cannot meet with the exact 417 of the specification", async () => {
  await using proxy = await startTestProxy({ proxyMaxUploadBytes: "1024", proxyMaxBytes: "1024" });
  const odd = await sendRaw(
    proxy.url,
    "POST /proxy/request HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nContent-Length: 2\r\n\r\n{}",
  );
  match(odd, /^HTTP\/1\.1 417 /);
  const { message, ...rest } = readJson(odd);
  equal(typeof message, "string");
  deepEqual(rest, { error: "Expectation Failed", supported_expectations: ["100-continue"] });
  for (const [path, type] of [["request", "application/json"], ["form", "multipart/form-data; boundary=b"]]) {
    const head = `POST /proxy/${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 5000\r\n`;
    const large = await sendRaw(proxy.url, `${head}Expect: 100-continue\r\n\r\n`);
    match(large, /HTTP\/1\.1 417 /);
    const body = readJson(large);
    equal(body.max_file_size, 1024);
    equal(body.your_file_size, 5000);
    match(await sendRaw(proxy.url, `${head}\r\n`), /^HTTP\/1\.1 413 /);
  }
});

async function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(text));
  let received = "";
  const buffer = new Uint8Array(65_536);
  // An answer of ours ends with the line end behind its JSON.
  while (!/\}\n$/.test(received)) {
    const read = await connection.read(buffer);
    if (read === null) break;
    received += new TextDecoder().decode(buffer.subarray(0, read));
  }
  return received;
}

function readJson(answer: string): Record<string, unknown> {
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n{") + 4));
}
