import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type CallbackListener, listenForCallback, PortTaken } from "./callback.ts";
import { strong } from "./page.ts";

const ISSUER = "https://hq.example";

/** Returns a port that was free a moment ago. */
async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Asked {
  address?: string;
  host?: string;
  method?: string;
}

interface Answer {
  status: number;
  body: string;
  header(name: string): string;
}

function ask(port: number, path: string, { address = "127.0.0.1", host, method }: Asked = {}): Promise<Answer> {
  const headers = { host: host ?? `localhost:${port}` };
  return new Promise((resolve, reject) => {
    const asked = request({ host: address, port, path, method, headers, agent: false }, async (response) => {
      const body = await text(response);
      resolve({ status: response.statusCode ?? 0, body, header: (name) => String(response.headers[name]) });
    });
    asked.on("error", reject);
    asked.end();
  });
}

async function withListener(test: (port: number, listener: CallbackListener) => Promise<void>): Promise<void> {
  const port = await findPort();
  const listener = await listenForCallback({ port, state: "s1", issuer: ISSUER });
  try {
    await test(port, listener);
  } finally {
    await listener.close();
  }
}

const PAGE = { status: 200, title: "Hello, <Ada>", sentences: [`The account ${strong("A & B")}.`] };

Deno.test("the callback listener takes the return of its own login on both addresses, and answers it when told", async () => {
  for (const address of ["127.0.0.1", "::1"]) {
    await withListener(async (port, listener) => {
      const asking = ask(port, "/?code=c1&state=s1", { address });
      const callback = await listener.called;
      assert.deepEqual(callback.returned, { code: "c1" });
      await callback.respond(PAGE);
      const response = await asking;
      assert.equal(response.status, 200);
      assert.match(response.body, /<h1>Hello, &#60;Ada&#62;<\/h1><p>The account <strong>A &#38; B<\/strong>\.<\/p>/);
      assert.doesNotMatch(response.body, /<script|javascript:/);
      assert.match(response.header("content-security-policy"), /^default-src 'none'; style-src 'sha256-[^']+'/);
      assert.equal(response.header("cache-control"), "no-store");
      assert.equal(response.header("referrer-policy"), "no-referrer");
    });
  }
});

Deno.test("the callback listener takes one return, and no second", async () => {
  await withListener(async (port, listener) => {
    const first = ask(port, `/?code=c1&state=s1&iss=${encodeURIComponent(ISSUER)}`);
    const { respond } = await listener.called;
    const second = await ask(port, "/?code=c2&state=s1");
    assert.equal(second.status, 409);
    assert.match(second.body, /Already used/);
    await respond(PAGE);
    assert.equal((await first).status, 200);
    assert.equal((await ask(port, "/?code=c1&state=s1")).status, 409);
  });
});

Deno.test("the callback listener refuses what is not its own login's, and goes on waiting", async () => {
  await withListener(async (port, listener) => {
    const cases: [path: string, status: number, how?: Asked][] = [
      ["/?code=c&state=other", 400],
      ["/?code=c", 400],
      ["/?code=c&state=", 400],
      ["/?state=s1", 400],
      ["/?code=&state=s1", 400],
      ["/?code=c&state=s1&iss=https://evil.example", 400],
      ["/?code=c&state=s1", 403, { host: `evil.example:${port}` }],
      ["/?code=c&state=s1", 403, { host: "localhost" }],
      ["/?code=c&state=s1", 403, { host: `localhost:${port + 1}` }],
      ["/?code=c&state=s1", 403, { host: `127.0.0.1.evil.example:${port}` }],
      ["/favicon.ico", 404],
      ["/x?code=c&state=s1", 404],
      ["//evil.example/?code=c&state=s1", 404],
      ["/?code=c&state=s1", 405, { method: "POST" }],
      ["/?code=c&state=s1", 405, { method: "HEAD" }],
    ];
    for (const [path, status, how] of cases) {
      assert.equal((await ask(port, path, how)).status, status, `${path} ${JSON.stringify(how)}`);
    }
    const asking = ask(port, "/?error=access_denied&error_description=No&state=s1", { host: `127.0.0.1:${port}` });
    const { returned, respond } = await listener.called;
    assert.deepEqual(returned, { error: "access_denied", description: "No" });
    await respond(PAGE);
    await asking;
  });
});

Deno.test("the callback listener tells that its port is taken, on either address, and keeps none of them", async () => {
  for (const address of ["127.0.0.1", "::1"]) {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, address, resolve));
    const { port } = other.address() as AddressInfo;
    await assert.rejects(listenForCallback({ port, state: "s", issuer: ISSUER }), PortTaken);
    await new Promise((resolve) => other.close(resolve));
    const listener = await listenForCallback({ port, state: "s", issuer: ISSUER });
    await listener.close();
  }
});

Deno.test("the callback listener ends for a browser that has gone, and with connections that say nothing", async () => {
  await withListener(async (port, listener) => {
    const gone = request({
      host: "127.0.0.1",
      port,
      path: "/?code=c&state=s1",
      headers: { host: `localhost:${port}` },
    });
    gone.on("error", () => {});
    gone.end();
    const { respond } = await listener.called;
    gone.destroy();
    await respond(PAGE);
  });
});
