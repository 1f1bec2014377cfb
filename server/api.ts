import { Buffer } from "node:buffer";
import { Hono } from "hono";
import { HttpError } from "../common/http_error.ts";
import type { ExchangeEnv } from "../common/listener/mod.ts";
import { type ApiObject, type ApiPart, joinApi } from "../common/open_api.ts";
import { PROJECT, RELEASE } from "../common/release.ts";
import type { ApiArea, Face } from "./face/mod.ts";

/** Where the OpenAPI document is. */
const OPEN_API_PATH = "/api/v1/openapi.json";

/** The areas whose routes make up the API, and what the server itself answers. */
export interface ApiOptions {
  /** Where the server is reached, without a slash at the end. */
  baseUrl: string;
  areas: readonly ApiArea[];
  /** Answers `GET /`. */
  welcome(accept: string | null): Response;
  /** What `/health` says besides that it runs. */
  readHealth(): object;
}

/** The face of the API. */
export interface ApiFace extends Face {
  /** The OpenAPI document. */
  describe(): ApiObject;
}

/** `/`, `/health` and everything below `/api/v1/`. Each answer here says its length, as HEAD has no body that would tell. */
export function createApiFace({ baseUrl, areas, welcome, readHealth }: ApiOptions): ApiFace {
  areas.forEach(checkDescribed);
  const app = new Hono<ExchangeEnv>();
  app.get("/health", () => sizedJson(JSON.stringify({ status: "ok", version: RELEASE, ...readHealth() })));
  app.get("/", (context) => welcome(context.req.header("accept") ?? null));
  let document: string | null = null;
  app.get(OPEN_API_PATH, () => sizedJson(document ??= JSON.stringify(describeApi(baseUrl, areas))));
  for (const { routes } of areas) if (routes !== undefined) app.route("/", routes);
  app.notFound(() => {
    throw new HttpError(404, "not_found", "There is nothing at this address.");
  });
  // Hono would make an answer of its own.
  app.onError((error) => {
    throw error;
  });
  return {
    describe: () => describeApi(baseUrl, areas),
    answer(exchange) {
      if (!/^\/(?:(?:health)?(?:\?|$)|api\/v1\/)/.test(exchange.path)) return undefined;
      return Promise.resolve(app.fetch(exchange.request, { exchange }));
    },
  };
}

/** What the document does not tell of is not tested either for who may call it. @throws Error for such a route */
function checkDescribed({ routes, describe }: ApiArea): void {
  for (const { method, path } of routes?.routes ?? []) {
    const item = describe.paths[path.replace(/:(\w+)/g, "{$1}")];
    if (item?.[method.toLowerCase()] === undefined) throw new Error(`${method} ${path}: no area describes it`);
  }
}

/** The OpenAPI document of a server: one part an area. */
function describeApi(url: string, areas: readonly ApiArea[]): ApiObject {
  return joinApi({ title: PROJECT, version: RELEASE, url }, [SERVER_API, ...areas.map(({ describe }) => describe)]);
}

function sizedJson(text: string): Response {
  const length = String(Buffer.byteLength(text));
  return new Response(text, { headers: { "content-type": "application/json", "content-length": length } });
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
