import { Hono } from "hono";
import { readJsonBody } from "../../http/mod.ts";
import type { ExchangeEnv } from "../../../net/listener/mod.ts";
import { type Authenticate, requireScope } from "../../access/mod.ts";
import { parseDays } from "../management/input.ts";
import type { TunnelManagement } from "../management/management.ts";

const NO_STORE = { "cache-control": "no-store" };

/** Creates the routes for persistent tunnels. {@link TunnelManagement} checks permissions. */
export function createTunnelRoutes(management: TunnelManagement, authenticate: Authenticate): Hono<ExchangeEnv> {
  const routes = new Hono<ExchangeEnv>();

  routes.get("/api/v1/tunnels", async ({ env, json }) => {
    return json({ tunnels: await management.list(await authenticate(env.exchange)) }, 200, NO_STORE);
  });
  routes.post("/api/v1/tunnels", async ({ env, json }) => {
    // Check the caller before reading the body.
    const asking = requireScope(await authenticate(env.exchange), "tunnels:write");
    return json(await management.create(asking, await readJsonBody(env.exchange)), 201, NO_STORE);
  });
  routes.get("/api/v1/usage", async ({ env, json }) => {
    return json(await management.allowance(await authenticate(env.exchange)), 200, NO_STORE);
  });
  routes.get("/api/v1/tunnels/:id", async ({ env, req, json }) => {
    return json(await management.get(await authenticate(env.exchange), req.param("id")), 200, NO_STORE);
  });
  routes.patch("/api/v1/tunnels/:id", async ({ env, req, json }) => {
    const asking = requireScope(await authenticate(env.exchange), "tunnels:write");
    return json(await management.update(asking, req.param("id"), await readJsonBody(env.exchange)), 200, NO_STORE);
  });
  routes.delete("/api/v1/tunnels/:id", async ({ env, req, body }) => {
    await management.remove(await authenticate(env.exchange), req.param("id"));
    return body(null, 204, NO_STORE);
  });
  routes.get("/api/v1/tunnels/:id/usage", async ({ env, req, json }) => {
    const asking = requireScope(await authenticate(env.exchange), "tunnels:use");
    const days = await management.usage(asking, req.param("id"), parseDays(req.query("days")));
    return json({ days }, 200, NO_STORE);
  });
  routes.get("/api/v1/tunnels/:id/requests", async ({ env, req, json }) => {
    const requests = await management.requests(await authenticate(env.exchange), req.param("id"));
    return json({ requests }, 200, NO_STORE);
  });
  return routes;
}
