import { ACCOUNT_SECURITY, type ApiObject, jsonResponseOf, toErrorResponse } from "../../../common/open_api.ts";
import { NAME_PATTERN } from "../management/input.ts";
import { MAX_ALLOWED_PORTS, MAX_DAYS, MAX_NAME } from "../management/limits.ts";

const text: ApiObject = { type: "string" };
const time: ApiObject = { type: "string", format: "date-time" };
const count: ApiObject = { type: "integer", minimum: 0 };
const port: ApiObject = { type: "integer", minimum: 1, maximum: 65535 };
const name: ApiObject = { ...text, pattern: NAME_PATTERN, minLength: 1, maxLength: MAX_NAME };
const allowedPorts: ApiObject = {
  description: "local ports that may be exposed: all, or a list that has the default port",
  anyOf: [{ const: "all" }, { type: "array", items: port, minItems: 1, maxItems: MAX_ALLOWED_PORTS }],
};
const enabled: ApiObject = { type: "boolean", description: "if false, visitors get 403 and sessions end" };

const TUNNEL: ApiObject = {
  type: "object",
  required: [
    "id",
    "name",
    "label",
    "url",
    "defaultPort",
    "allowedPorts",
    "enabled",
    "suspended",
    "createdAt",
    "live",
  ],
  properties: {
    id: { type: "string", format: "uuid" },
    name,
    label: { ...text, description: "its host below the tunnel domain; other ports have <label>--<port>" },
    url: { type: "string", format: "uri", description: "the public address for the default port" },
    defaultPort: port,
    allowedPorts,
    enabled,
    suspended: { type: "boolean", description: "switched off by the server's operator" },
    createdAt: time,
    live: {
      type: "array",
      description: "ports that clients expose now",
      items: { type: "object", required: ["port", "since"], properties: { port, since: time } },
    },
  },
};

const list = (name: string, items: ApiObject): ApiObject => ({
  type: "object",
  required: [name],
  properties: { [name]: { type: "array", items } },
});

const DAY: ApiObject = {
  type: "object",
  required: ["day", "bytes", "requests"],
  properties: { day: { type: "string", format: "date" }, bytes: count, requests: count },
};

const REQUEST: ApiObject = {
  type: "object",
  required: ["at", "method", "path", "status", "ms", "bytes", "port"],
  properties: {
    at: time,
    method: text,
    path: { ...text, description: "with the query; cut at 2,000 characters" },
    status: { type: "integer", minimum: 100, maximum: 599 },
    ms: count,
    bytes: { ...count, description: "heads and bodies, both directions" },
    port,
  },
};

const ALLOWANCE: ApiObject = {
  type: "object",
  required: ["month", "bytes", "bytesLimit", "resetsAt", "warning"],
  properties: {
    month: { type: "string", pattern: "^\\d{4}-\\d\\d$" },
    bytes: count,
    bytesLimit: { type: "integer", minimum: 1 },
    resetsAt: time,
    warning: { type: "boolean", description: "80 % or more of it is used" },
  },
};

/** Schemas for persistent tunnels. */
export const TUNNEL_SCHEMAS: Readonly<Record<string, ApiObject>> = {
  Tunnel: TUNNEL,
  Tunnels: list("tunnels", { $ref: "#/components/schemas/Tunnel" }),
  NewTunnel: {
    type: "object",
    additionalProperties: false,
    required: ["name", "defaultPort"],
    properties: { name, defaultPort: port, allowedPorts, enabled },
  },
  TunnelChange: {
    type: "object",
    additionalProperties: false,
    properties: {
      name: { ...text, description: "the present name; it cannot change" },
      defaultPort: port,
      allowedPorts,
      enabled,
    },
  },
  TunnelUsage: list("days", DAY),
  TunnelRequests: list("requests", REQUEST),
  Allowance: ALLOWANCE,
};

const id: ApiObject = { name: "id", in: "path", required: true, schema: text };
const bodyOf = (schema: string): ApiObject => ({
  required: true,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } },
});

/** Describes a route for account members. @param responses the ones besides the common refusals */
function describe(operationId: string, summary: string, some: ApiObject, responses: ApiObject): ApiObject {
  return {
    tags: ["tunnels"],
    operationId,
    summary,
    security: ACCOUNT_SECURITY,
    ...some,
    responses: {
      ...responses,
      401: toErrorResponse("nobody is logged in"),
      403: toErrorResponse("the token lacks the scope, or the account's plan or limits forbid it"),
    },
  };
}

const missing: ApiObject = { 404: toErrorResponse("the account has no such tunnel") };
const unusable: ApiObject = {
  400: toErrorResponse("a field cannot be used; it is named"),
  413: toErrorResponse("too long"),
};

/** Routes for persistent tunnels. */
export const TUNNEL_PATHS: Readonly<Record<string, ApiObject>> = {
  "/api/v1/tunnels": {
    get: describe("listTunnels", "Persistent tunnels of the account", {}, {
      200: jsonResponseOf("Tunnels", "by name"),
    }),
    post: describe("createTunnel", "Make a persistent tunnel", { requestBody: bodyOf("NewTunnel") }, {
      201: jsonResponseOf("Tunnel", "it is there"),
      ...unusable,
      409: toErrorResponse("the account has one of that name"),
    }),
  },
  "/api/v1/tunnels/{id}": {
    get: describe("getTunnel", "Look one up", { parameters: [id] }, {
      200: jsonResponseOf("Tunnel", "it"),
      ...missing,
    }),
    patch: describe(
      "changeTunnel",
      "Change its ports, or switch it on or off",
      { parameters: [id], requestBody: bodyOf("TunnelChange") },
      { 200: jsonResponseOf("Tunnel", "as it is now"), ...unusable, ...missing },
    ),
    delete: describe("deleteTunnel", "Delete it, and end its sessions", { parameters: [id] }, {
      204: { description: "The tunnel is deleted." },
      ...missing,
    }),
  },
  "/api/v1/tunnels/{id}/usage": {
    get: describe("getTunnelUsage", "What it carried, by day", {
      parameters: [id, {
        name: "days",
        in: "query",
        description: "days up to today, in UTC",
        schema: { type: "integer", minimum: 1, maximum: MAX_DAYS, default: 30 },
      }],
    }, { 200: jsonResponseOf("TunnelUsage", "oldest first"), 400: unusable[400], ...missing }),
  },
  "/api/v1/tunnels/{id}/requests": {
    get: describe("getTunnelRequests", "Its last 100 requests", { parameters: [id] }, {
      200: jsonResponseOf("TunnelRequests", "newest first; kept in memory only"),
      ...missing,
    }),
  },
  "/api/v1/usage": {
    get: describe("getAllowance", "What the asking user carried this month, and may", {}, {
      200: jsonResponseOf("Allowance", "over all of their tunnels in this account, both directions"),
    }),
  },
};
