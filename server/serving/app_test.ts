import assert from "node:assert/strict";
import { HttpError } from "../../common/http_error.ts";
import { BodyCut, type Exchange } from "../../net/listener/mod.ts";
import { createLogger, silentLogger } from "../../common/log.ts";
import { createApp } from "./app.ts";
import type { Handler } from "../http/mod.ts";

/** What of an exchange a face looks at. */
function ask(host: string, path: string): Exchange {
  return { method: "GET", host, path, header: () => null } as unknown as Exchange;
}

/** A whole face: its host, its path, its error page. */
const statusPage: Handler = {
  handle({ host, path }) {
    if (host !== "status.example.com" || !path.startsWith("/now")) return undefined;
    if (path === "/now") return new Response("all is well");
    throw new HttpError(404, "no_such_status", "Nothing is known of that.");
  },
  refuse: ({ code }) => new Response(`<h1>${code}</h1>`, { status: 404 }),
};
const everything: Handler = { handle: () => new Response("the rest") };

const app = createApp([statusPage, everything], silentLogger);
const read = async (host: string, path: string, handler = app) => {
  const response = await handler(ask(host, path));
  return `${response?.status} ${await response?.text()}`;
};

Deno.test("a face answers at its host and path, with its own error page, and what is not its own goes on", async () => {
  assert.equal(await read("status.example.com", "/now"), "200 all is well");
  assert.equal(await read("status.example.com", "/now/unheard"), "404 <h1>no_such_status</h1>");
  assert.equal(await read("status.example.com", "/"), "200 the rest");
  assert.equal(await read("example.com", "/now"), "200 the rest");
});

Deno.test("what no face takes is 404", async () => {
  assert.match(await read("example.com", "/", createApp([statusPage], silentLogger)), /^404 .*not_found/);
});

Deno.test("a face that fails answers 500 and says no more, now or later", async () => {
  const lines: string[] = [];
  const log = createLogger({ level: "error", write: (line) => void lines.push(line) });
  const now: Handler = {
    handle() {
      throw new Error("the secret of the shop");
    },
  };
  const later: Handler = { handle: () => Promise.reject(new Error("the secret of the shop")) };
  for (const face of [now, later]) {
    const answer = await read("example.com", "/", createApp([face], log));
    assert.match(answer, /^500 /);
    assert.doesNotMatch(answer, /secret/);
  }
  assert.equal(lines.length, 2);
});

Deno.test("a body that its visitor broke off gets no response, and the log no entry", async () => {
  const lines: string[] = [];
  const log = createLogger({ format: "text", write: (line) => lines.push(line) });
  let cuts = 0;
  const exchange = { ...ask("h", "/"), response: { cut: () => cuts++ } } as unknown as Exchange;
  for (
    const handle of [() => Promise.reject(new BodyCut("the visitor left")), () => {
      throw new BodyCut("the body is malformed");
    }]
  ) {
    assert.equal(await createApp([{ handle }], log)(exchange), null);
  }
  assert.deepEqual([cuts, lines], [2, []]);
});
