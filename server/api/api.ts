import { Hono, type MiddlewareHandler } from "hono";
import { nothingHere } from "../../common/http_error.ts";
import type { ExchangeEnv } from "../../net/listener/mod.ts";
import { type ApiObject, type ApiPart, joinApi } from "../../common/open_api.ts";
import { PROJECT, RELEASE } from "../../common/release.ts";
import { type ApiArea, checkQuery, type Handler } from "../http/mod.ts";
import { sizedJson } from "./sized_json.ts";
import { welcome, type WelcomeOptions } from "./welcome.ts";

/** The path that serves the OpenAPI document. */
const OPEN_API_PATH = "/api/v1/openapi.json";

/** The parts that make up the API. */
export interface ApiOptions {
  /** Areas whose routes belong to the API. */
  areas: readonly ApiArea[];
  /** Content for the page at `/`. */
  about: WelcomeOptions;
  /** Describes the proxy for the OpenAPI document. The first request for the document loads the module. */
  describeProxy(): Promise<ApiPart>;
}

/** The request handler for the API. */
export interface ApiHandler extends Handler {
  /** The OpenAPI document. */
  describe(): Promise<ApiObject>;
}

/** Handles `/` and all paths below `/api/v1/`. Responses have a Content-Length, also those to HEAD. */
export function createApiHandler({ areas, about, describeProxy }: ApiOptions): ApiHandler {
  const info = { title: PROJECT, version: RELEASE, url: about.baseUrl };
  const describe = async () =>
    joinApi(info, [SERVER_API, await describeProxy(), ...areas.map(({ describe }) => describe)]);
  const app = new Hono<ExchangeEnv>();
  app.use(endUnread);
  app.get("/", (context) => welcome(context.req.header("accept") ?? null, about));
  let document: string | null = null;
  app.get(OPEN_API_PATH, checkNames({}), async () => sizedJson(document ??= JSON.stringify(await describe())));
  for (const { routes, describe } of areas) {
    for (const { method, path, handler } of routes?.routes ?? []) {
      app.on(method, path, checkNames(findOperation(describe, method, path)), handler);
    }
  }
  app.notFound(() => {
    throw nothingHere();
  });
  // Hono would otherwise respond itself.
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

/** Cancels the body that Hono drops from the response to HEAD: a stream of events would otherwise stay open. */
const endUnread: MiddlewareHandler<ExchangeEnv> = async (context, next) => {
  await next();
  if (context.env.exchange.method === "HEAD") await context.res.body?.cancel();
};

/**
 * The operation that describes a route in the OpenAPI document. Every route needs one: the document decides which query
 * parameters are known, and tests of access find the routes in it.
 * @throws Error for a route without
 */
function findOperation({ paths }: ApiPart, method: string, path: string): ApiObject {
  const operation = paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
  if (typeof operation !== "object" || operation === null) throw new Error(`${method} ${path}: no area describes it`);
  return operation as ApiObject;
}

/** Refuses query parameters that an operation does not have. */
function checkNames({ parameters }: ApiObject): MiddlewareHandler<ExchangeEnv> {
  const known = new Set(
    (Array.isArray(parameters) ? parameters : []).flatMap((one) => one.in === "query" ? one.name : []),
  );
  return async ({ env }, next) => {
    checkQuery(env.exchange.path, known);
    await next();
  };
}

const HEALTH = { "application/json": { schema: { $ref: "#/components/schemas/Health" } } };

/** The server's own routes. */
const SERVER_API: ApiPart = {
  tag: { name: "server", description: "about the server itself" },
  paths: {
    "/health": {
      get: {
        tags: ["server"],
        operationId: "health",
        security: [],
        summary: "The state of the server",
        parameters: [{
          name: "ready",
          in: "query",
          allowEmptyValue: true,
          description: "Returns 503 while the status is not `ok`.",
          schema: { type: "string" },
        }],
        responses: {
          200: { description: "The server runs.", content: HEALTH },
          503: { description: "With `ready`: its storage fails, or it is shutting down.", content: HEALTH },
        },
      },
    },
    [OPEN_API_PATH]: {
      get: {
        tags: ["server"],
        operationId: "describe",
        security: [],
        summary: "This document",
        responses: { 200: { description: "it", content: { "application/json": { schema: { type: "object" } } } } },
      },
    },
  },
  schemas: {
    Health: {
      type: "object",
      required: ["status", "version"],
      properties: { status: { enum: ["ok", "storage_failed", "draining"] }, version: { type: "string" } },
    },
  },
};
