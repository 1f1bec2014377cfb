import assert from "node:assert/strict";
import { openConnector } from "../../net/connection/mod.ts";
import { type ApiClient, createApiClient } from "./api_client.ts";
import { createFixedTokens, type TokenSource } from "./tokens.ts";
import { type Say, startTestServer } from "./_test_server.ts";

async function withApi(say: Say, test: (api: ApiClient, got: () => string[]) => Promise<void>, tokens?: TokenSource) {
  await using server = await startTestServer(say);
  const api = createApiClient({
    server: server.url,
    connect: openConnector(),
    tokens: tokens ?? createFixedTokens("t1", "PORTWAY_TOKEN"),
  });
  await test(api, () => server.got.map((one) => `${one.method} ${one.path} ${one.authorization} ${one.body}`));
}

/** Creates a source that issues the given tokens in order. */
function tokensInRow(...row: string[]): TokenSource {
  return {
    current: () => Promise.resolve(row[0]),
    renew: (refused) => Promise.resolve(row[row.indexOf(refused) + 1] ?? null),
    explainRefused: () => "log in again",
  };
}

Deno.test("an API client asks with its token and gives what was answered", async () => {
  await withApi(({ method }) => method === "DELETE" ? [204, ""] : [200, { method }], async (api, got) => {
    assert.deepEqual(await api.get("/api/v1/whoami?x=1"), { method: "GET" });
    assert.deepEqual(await api.post("/api/v1/views", { name: "Zürich 🏔" }), { method: "POST" });
    assert.deepEqual(await api.post("/api/v1/accounts/1/switch"), { method: "POST" });
    assert.deepEqual(await api.patch("/api/v1/views/1", { name: "b" }), { method: "PATCH" });
    assert.equal(await api.delete("/api/v1/views/1"), null);
    assert.deepEqual(got(), [
      "GET /api/v1/whoami?x=1 Bearer t1 ",
      'POST /api/v1/views Bearer t1 {"name":"Zürich 🏔"}',
      "POST /api/v1/accounts/1/switch Bearer t1 ",
      'PATCH /api/v1/views/1 Bearer t1 {"name":"b"}',
      "DELETE /api/v1/views/1 Bearer t1 ",
    ]);
  });
});

Deno.test("an API client tells a refusal with its code, and in one line what can be done", async () => {
  const error = { code: "scope_missing", message: "This token lacks a scope.", details: "Log in again." };
  await withApi(() => [403, { error }], async (api) => {
    await assert.rejects(api.get("/api/v1/tunnels"), {
      name: "ApiRefused",
      status: 403,
      code: "scope_missing",
      message: "This token lacks a scope. Log in again.",
      details: "Log in again.",
    });
    await assert.rejects(api.stream("/api/v1/tunnels"), { name: "ApiRefused", code: "scope_missing" });
  });
});

const failures: [what: string, status: number, body: string, error: RegExp][] = [
  ["a page", 200, "<html>", /^ApiRefused: http:\S+ is not a Portway server$/],
  ["an error page", 404, "<html>", /^ApiRefused: http:\S+ is not a Portway server$/],
  ["a proxy's error", 502, "<html>", /^ApiUnreachable: the server http:\S+ is not available$/],
  [
    "an error of the server's own",
    500,
    '{"error":{"code":"internal","message":"It broke."}}',
    /^ApiUnreachable: It broke\.$/,
  ],
];

for (const [what, status, body, error] of failures) {
  Deno.test(`an API client tells ${what} in one line`, async () => {
    await withApi(() => [status, body], (api) => assert.rejects(api.get("/api/v1/whoami"), error));
  });
}

Deno.test("an API client asks again with another token when the first is not taken, and only once", async () => {
  const say: Say = ({ authorization }) => authorization === "Bearer t2" ? [200, {}] : [401, { error: {} }];
  await withApi(say, async (api, got) => {
    await api.get("/a");
    (await api.stream("/b")).close();
    assert.deepEqual(got().map((line) => line.trim()), [
      "GET /a Bearer t1",
      "GET /a Bearer t2",
      "GET /b Bearer t1",
      "GET /b Bearer t2",
    ]);
  }, tokensInRow("t1", "t2"));
  await withApi(say, async (api, got) => {
    await assert.rejects(api.get("/a"), { name: "LoginNeeded", message: "log in again" });
    assert.equal(got().length, 2);
  }, tokensInRow("t0", "t1", "t2"));
});

Deno.test("an API client tells that the token of the environment is not taken", async () => {
  await withApi(() => [401, { error: {} }], async (api) => {
    await assert.rejects(api.get("/a"), {
      name: "LoginNeeded",
      message: `the server ${api.server.origin} rejected the token in PORTWAY_TOKEN: it is wrong or revoked`,
    });
  });
});

Deno.test("an API client sends its token to no other server", async () => {
  await withApi(() => [200, {}], async (api, got) => {
    await assert.rejects(api.get("http://other.example/"), { name: "TypeError" });
    await assert.rejects(api.get("//other.example/"), { name: "TypeError" });
    assert.deepEqual(got(), []);
  });
});

Deno.test("a stream of an API client gives each piece as it comes, and ends with the server's", async () => {
  const next = Promise.withResolvers<void>();
  const say: Say = (got, response) => {
    assert.equal(got.headers["last-event-id"], "7");
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: a\n\n");
    void next.promise.then(() => response.end("data: b\n\n"));
    return null;
  };
  await withApi(say, async (api) => {
    const stream = await api.stream("/s", { headers: { "last-event-id": "7" } });
    assert.equal(stream.header("content-type"), "text/event-stream");
    let text = "";
    for await (const chunk of stream.body) {
      text += new TextDecoder().decode(chunk);
      if (text === "data: a\n\n") next.resolve();
    }
    assert.equal(text, "data: a\n\ndata: b\n\n");
    stream.close();
  });
});

Deno.test("a stream of an API client fails when the server is gone in the middle, and ends when it is given up", async () => {
  const say: Say = ({ path }, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: a\n\n", () => path === "/cut" && response.destroy());
    return null;
  };
  await withApi(say, async (api) => {
    const cut = await api.stream("/cut");
    await assert.rejects(async () => {
      for await (const _ of cut.body);
    });
    const abort = new AbortController();
    const endless = await api.stream("/endless", { signal: abort.signal });
    await assert.rejects(async () => {
      for await (const _ of endless.body) abort.abort();
    });
  });
});

Deno.test("an API client tells a server that is not there", async () => {
  const server = await startTestServer(() => null);
  await server[Symbol.asyncDispose]();
  const api = createApiClient({ server: server.url, connect: openConnector(), tokens: createFixedTokens("t", "T") });
  await assert.rejects(api.get("/a"), /^ApiUnreachable: cannot reach the server http:\S+: /);
});
