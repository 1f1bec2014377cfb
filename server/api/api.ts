import { Hono, type MiddlewareHandler } from "hono";
import { nothingHere } from "../../common/http_error.ts";
import type { ExchangeEnv } from "../../net/listener/mod.ts";
import { type ApiObject, type ApiPart, joinApi } from "../../common/open_api.ts";
import { PROJECT, RELEASE } from "../../common/release.ts";
import type { ApiArea, Handler } from "../http/mod.ts";
import { sizedJson } from "./sized_json.ts";
import { welcome, type WelcomeOptions } from "./welcome.ts";

/** Where the OpenAPI document is. */
const OPEN_API_PATH = "/api/v1/openapi.json";

/** The areas whose routes make up the API, and what the server itself answers. */
export interface ApiOptions {
  areas: readonly ApiArea[];
  /** What `/` tells. */
  about: WelcomeOptions;
  /** What the OpenAPI document says of the proxy, to be loaded when somebody reads it. */
  describeProxy(): Promise<ApiPart>;
}

/** The face of the API. */
export interface ApiHandler extends Handler {
  /** The OpenAPI document. */
  describe(): Promise<ApiObject>;
}

/** `/` and everything below `/api/v1/`. Each answer here says its length, as HEAD has no body that would tell. */
export function createApiHandler({ areas, about, describeProxy }: ApiOptions): ApiHandler {
  areas.forEach(checkDescribed);
  const info = { title: PROJECT, version: RELEASE, url: about.baseUrl };
  const describe = async () =>
    joinApi(info, [SERVER_API, await describeProxy(), ...areas.map(({ describe }) => describe)]);
  const app = new Hono<ExchangeEnv>();
  app.use(endUnread);
  app.get("/", (context) => welcome(context.req.header("accept") ?? null, about));
  let document: string | null = null;
  app.get(OPEN_API_PATH, async () => sizedJson(document ??= JSON.stringify(await describe())));
  for (const { routes } of areas) if (routes !== undefined) app.route("/", routes);
  app.notFound(() => {
    throw nothingHere();
  });
  // Hono would make an answer of its own.
  app.onError((error) => {
    throw error;
  });
  return {
    describe,
    handle(exchange) {
      if (!/^\/(?:\?|$|api\/v1\/)/.test(exchange.path)) return undefined;
      return Promise.resolve(app.fetch(exchange.request, { exchange }));
    },
  };
}

/** Hono answers HEAD with what GET does and drops the body, which would go on: a stream of events has no other end. */
const endUnread: MiddlewareHandler<ExchangeEnv> = async (context, next) => {
  await next();
  if (context.env.exchange.method === "HEAD") await context.res.body?.cancel();
};

/** What the document does not tell of is not tested either for who may call it. @throws Error for such a route */
function checkDescribed({ routes, describe }: ApiArea): void {
  for (const { method, path } of routes?.routes ?? []) {
    const item = describe.paths[path.replace(/:(\w+)/g, "{$1}")];
    if (item?.[method.toLowerCase()] === undefined) throw new Error(`${method} ${path}: no area describes it`);
  }
}

/** The server's own routes. */
const SERVER_API: ApiPart = {
  tag: { name: "server", description: "about the server itself" },
  paths: {
    "/health": {
      get: {
        tags: ["server"],
        operationId: "health",
        summary: "Whether it runs",
        responses: {
          200: {
            description: "it does",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Health" } } },
          },
        },
      },
    },
    [OPEN_API_PATH]: {
      get: {
        tags: ["server"],
        operationId: "describe",
        summary: "This document",
        responses: { 200: { description: "it", content: { "application/json": { schema: { type: "object" } } } } },
      },
    },
  },
  schemas: {
    Health: {
      type: "object",
      required: ["status", "version"],
      properties: { status: { enum: ["ok", "storage_failed"] }, version: { type: "string" } },
    },
  },
};
