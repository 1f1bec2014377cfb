import { deepEqual } from "node:assert/strict";
import type { Exchange } from "../../net/listener/mod.ts";
import { createHealth, type HealthStatus } from "./health.ts";

function createAsk(state: { status: HealthStatus }) {
  const health = createHealth(() => ({ ...state, sessions: 1 }));
  const ask = async (path: string) => {
    const response = await health.handle({ method: "GET", path } as Exchange) as Response;
    const { status, sessions } = await response.json();
    return [response.status, status, sessions, response.headers.get("retry-after")];
  };
  return { health, ask };
}

Deno.test("/health returns 200 with the status, and /health?ready returns 503 while storage fails", async () => {
  const state: { status: HealthStatus } = { status: "ok" }, { ask } = createAsk(state);
  deepEqual([await ask("/health"), await ask("/health?ready")], [[200, "ok", 1, null], [200, "ok", 1, null]]);
  state.status = "storage_failed";
  deepEqual(await ask("/health"), [200, "storage_failed", 1, null]);
  deepEqual(await ask("/health?a=b"), [200, "storage_failed", 1, null]);
  for (const path of ["/health?ready", "/health?a=b&ready=1"]) {
    deepEqual(await ask(path), [503, "storage_failed", 1, "5"], path);
  }
});

Deno.test("/health?ready returns 503 from the beginning of a shutdown on", async () => {
  const { health, ask } = createAsk({ status: "ok" });
  await health.drain();
  deepEqual([await ask("/health"), await ask("/health?ready")], [[200, "draining", 1, null], [
    503,
    "draining",
    1,
    "5",
  ]]);
});
