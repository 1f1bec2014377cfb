import { type ApiObject, type ApiPart, jsonResponseOf, toErrorResponse } from "../../../common/open_api.ts";
import { TUNNEL_PATHS, TUNNEL_SCHEMAS } from "./tunnel_open_api.ts";

const EPHEMERAL_TUNNEL: ApiObject = {
  type: "object",
  required: ["id", "url", "createdAt", "expiresAt", "remainingSeconds", "bytesUsed", "bytesLimit"],
  properties: {
    id: { type: "string", format: "uuid" },
    url: { type: "string", format: "uri", description: "its public address" },
    createdAt: { type: "string", format: "date-time" },
    expiresAt: { type: "string", format: "date-time" },
    remainingSeconds: { type: "integer", minimum: 0 },
    bytesUsed: { type: "integer", minimum: 0, description: "both directions" },
    bytesLimit: { type: "integer", minimum: 1 },
  },
};

/** The OpenAPI description for the relay's routes. */
export const TUNNELS_API: ApiPart = {
  tag: { name: "tunnels", description: "public URLs for local services" },
  paths: {
    ...TUNNEL_PATHS,
    "/api/v1/tunnels/ephemeral": {
      post: {
        tags: ["tunnels"],
        operationId: "createEphemeralTunnel",
        security: [],
        summary: "Create an ephemeral tunnel, without an account",
        responses: {
          201: jsonResponseOf("OwnedEphemeralTunnel", "it is there, and waits for its client"),
          429: toErrorResponse("too many from this address"),
          503: toErrorResponse("the server has as many as it may, or restarts"),
        },
      },
    },
    "/api/v1/tunnels/ephemeral/{id}": {
      get: {
        tags: ["tunnels"],
        operationId: "getEphemeralTunnel",
        summary: "Get an ephemeral tunnel, to resume it",
        security: [{ tunnelSecret: [] }],
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          200: jsonResponseOf("EphemeralTunnel", "it goes on"),
          401: toErrorResponse("no secret was sent"),
          404: toErrorResponse("there is none of that id, or the secret is another's"),
          410: toErrorResponse("its time or its traffic is over"),
        },
      },
    },
  },
  schemas: {
    ...TUNNEL_SCHEMAS,
    EphemeralTunnel: EPHEMERAL_TUNNEL,
    OwnedEphemeralTunnel: {
      allOf: [{ $ref: "#/components/schemas/EphemeralTunnel" }, {
        type: "object",
        required: ["secret"],
        properties: { secret: { type: "string", description: "proves ownership; shown once" } },
      }],
    },
  },
  securitySchemes: { tunnelSecret: { type: "http", scheme: "bearer" } },
};
