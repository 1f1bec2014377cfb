import { type ApiObject, type ApiPart, joinApi } from "../common/open_api.ts";
import { PROJECT, RELEASE } from "../common/release.ts";
import { proxyApi, type ProxyApiOptions } from "./proxy/mod.ts";

/** Where the OpenAPI document is. */
export const OPEN_API_PATH = "/api/v1/openapi.json";

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

/** The OpenAPI document of a server: one part an area. */
export function describeApi(options: ProxyApiOptions & { baseUrl: string }): ApiObject {
  return joinApi({ title: PROJECT, version: RELEASE, url: options.baseUrl }, [SERVER_API, proxyApi(options)]);
}
