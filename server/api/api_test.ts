import { deepEqual } from "node:assert/strict";
import { Hono } from "hono";
import { type ExchangeEnv, listen } from "../../net/listener/mod.ts";
import { silentLogger } from "../../common/log.ts";
import { createApp } from "../serving/app.ts";
import { createApiHandler } from "./api.ts";

Deno.test("who asks for the head of a stream leaves none open", async () => {
  let open = 0;
  const routes = new Hono<ExchangeEnv>();
  routes.get("/api/v1/stream", () => {
    const stream = new ReadableStream({ start: () => void open++, cancel: () => void open-- });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });
  const api = createApiHandler({
    areas: [{ routes, describe: { tag: { name: "", description: "" }, paths: { "/api/v1/stream": { get: {} } } } }],
    about: { baseUrl: "http://api.example", files: false, openPaths: false },
    describeProxy: () => Promise.reject(new Error("there is no proxy")),
  });
  const app = createApp([api], silentLogger);
  const listener = await listen("edge", { hostname: "127.0.0.1", port: 0, log: silentLogger }, app);
  try {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/api/v1/stream`, { method: "HEAD" });
    deepEqual([answer.status, answer.headers.get("content-type"), open], [200, "text/event-stream", 0]);
  } finally {
    await listener.close();
  }
});
