import { z } from "zod";
import { type ApiObject, type ApiPart, jsonResponseOf, toErrorResponse } from "../../common/open_api.ts";
import { responseSchema } from "./responses/json.ts";
import { descriptionSchema, HEADERS_HEADER } from "./describe/description.ts";
import { TOKEN_HEADER } from "./gate.ts";

/** The options that change the proxy's paths. */
export interface ProxyApiOptions {
  files: boolean;
  openPaths: boolean;
  /** Whether the proxy runs alone, without a relay. */
  isAlone: boolean;
}

/** Describes the proxy's routes for the OpenAPI document. The same schemas check requests. */
export function proxyApi({ files, openPaths, isAlone }: ProxyApiOptions): ApiPart {
  const fetchItem = createFetchItem();
  return {
    tag: { name: "proxy", description: "makes the requests that a browser may not" },
    paths: {
      "/": { get: WELCOME_OPERATION, ...(isAlone ? { post: PROXYSCOTCH_OPERATION } : {}) },
      "/proxy/request": REQUEST_ITEM,
      "/proxy/form": FORM_ITEM,
      "/proxy/fetch": { parameters: [URL_PARAMETER, FORCED_HEADERS], ...fetchItem },
      "/proxy/fetch/{url}": { parameters: [URL_IN_PATH, FORCED_HEADERS], ...fetchItem },
      ...(openPaths ? { "/{url}": { parameters: [URL_IN_PATH, FORCED_HEADERS], ...fetchItem } } : {}),
      ...(files ? { "/proxy/files/{path}": FILES_ITEM } : {}),
    },
    schemas: {
      RequestDescription: toSchema(descriptionSchema),
      ResponseDescription: toSchema(responseSchema),
      ProxyscotchRequest: PROXYSCOTCH_REQUEST,
      ProxyscotchResponse: PROXYSCOTCH_RESPONSE,
      ProxyscotchStatus: PROXYSCOTCH_STATUS,
    },
    securitySchemes: {
      proxyToken: { type: "apiKey", in: "header", name: TOKEN_HEADER },
      proxyBearer: { type: "http", scheme: "bearer" },
    },
  };
}

const WELCOME_OPERATION: ApiObject = {
  tags: ["proxy"],
  operationId: "welcome",
  security: [],
  summary: "Name, version and endpoints",
  responses: { 200: { description: "a page for browsers, text for others", content: { "text/*": { schema: {} } } } },
};

/** `POST /` on a proxy without a relay, for clients made for proxyscotch. */
const PROXYSCOTCH_OPERATION: ApiObject = {
  tags: ["proxy"],
  operationId: "requestAsProxyscotch",
  summary: "The same as POST /proxy/request, where clients made for proxyscotch ask",
  requestBody: {
    required: true,
    content: { "application/json": { schema: { $ref: "#/components/schemas/ProxyscotchRequest" } } },
  },
  responses: {
    200: jsonResponseOf("ProxyscotchResponse", "the response or the failure"),
    default: toErrorResponse("refused"),
  },
};

/** Converts the schema that callers must meet, before any transformation. */
function toSchema(schema: z.ZodType): ApiObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema }) {
      // Generators of clients, such as openapi-python-client, refuse `false` as a schema.
      if (jsonSchema.items !== false || jsonSchema.prefixItems === undefined) return;
      delete jsonSchema.items;
      jsonSchema.minItems = jsonSchema.maxItems = jsonSchema.prefixItems.length;
    },
  });
  return rest;
}

/** With a token configured, a request must carry it in one of two ways. */
const SECURITY = [{}, { proxyToken: [] }, { proxyBearer: [] }];

const DESCRIBED_RESPONSE: ApiObject = {
  description: "the upstream's response, described, or its body alone with `stream`",
  headers: Object.fromEntries(
    ["status", "status-text", "final-url", "headers", "redirects", "timings"].map((name) => [
      `portway-${name}`,
      { description: "with `stream` only", schema: { type: "string" } },
    ]),
  ),
  content: {
    "application/json": {
      schema: {
        anyOf: [
          { $ref: "#/components/schemas/ResponseDescription" },
          { $ref: "#/components/schemas/ProxyscotchResponse" },
        ],
      },
    },
    "*/*": { schema: {} },
  },
};

const DESCRIPTION_CONTENT: ApiObject = {
  "application/json": {
    schema: {
      anyOf: [
        { $ref: "#/components/schemas/RequestDescription" },
        { $ref: "#/components/schemas/ProxyscotchRequest" },
      ],
    },
  },
};

const REQUEST_ITEM: ApiObject = {
  get: {
    tags: ["proxy"],
    operationId: "getProxyStatus",
    security: [],
    summary: "Whether the proxy is available and needs a token, in proxyscotch's format",
    responses: { 200: jsonResponseOf("ProxyscotchStatus", "it is"), default: toErrorResponse("refused") },
  },
  post: {
    tags: ["proxy"],
    operationId: "request",
    summary: "Makes the request that a JSON body describes",
    security: SECURITY,
    requestBody: { required: true, content: DESCRIPTION_CONTENT },
    responses: {
      200: DESCRIBED_RESPONSE,
      default: toErrorResponse("the request or the delivery of its response failed"),
    },
  },
};

const FORM_SCHEMA: ApiObject = {
  type: "object",
  required: ["request"],
  properties: { request: { $ref: "#/components/schemas/RequestDescription" } },
  additionalProperties: true,
};

const FORM_ITEM: ApiObject = {
  post: {
    tags: ["proxy"],
    operationId: "sendForm",
    summary: "Makes the request that the first part of a form describes, with its other parts as the body",
    security: SECURITY,
    requestBody: {
      required: true,
      content: {
        "multipart/form-data": { schema: FORM_SCHEMA, encoding: { request: { contentType: "application/json" } } },
        "application/x-www-form-urlencoded": { schema: FORM_SCHEMA },
      },
    },
    responses: {
      200: DESCRIBED_RESPONSE,
      default: toErrorResponse("the request or the delivery of its response failed"),
    },
  },
};

const URL_PARAMETER: ApiObject = {
  name: "url",
  in: "query",
  required: true,
  description: "absolute, escaped; one that is not escaped goes to the end",
  schema: { type: "string" },
};

const URL_IN_PATH: ApiObject = {
  name: "url",
  in: "path",
  required: true,
  description: "absolute, as it is: with its slashes and its query",
  schema: { type: "string" },
};

const FORCED_HEADERS: ApiObject = {
  name: HEADERS_HEADER,
  in: "header",
  description: "JSON, pairs or an object: header fields that a page cannot set, such as Cookie and Origin",
  schema: { type: "string" },
};

const FETCH_METHODS = ["get", "head", "post", "put", "patch", "delete"];

/** Creates the same operation for every method. */
function createFetchItem(): ApiObject {
  const withBody = { content: { "*/*": { schema: {} } } };
  return Object.fromEntries(FETCH_METHODS.map((method) => [method, {
    tags: ["proxy"],
    summary: "Makes this request to that URL and passes its response on",
    security: [{}, { proxyToken: [] }],
    ...(method === "get" || method === "head" ? {} : { requestBody: withBody }),
    responses: {
      default: {
        description: "the upstream's response with its own status, or a proxy error with portway-error",
        headers: {
          "x-request-url": { schema: { type: "string" } },
          "x-final-url": { schema: { type: "string" } },
          "portway-headers": {
            schema: { type: "string" },
            description: "JSON, pairs: fields of the upstream that are not passed on, such as Set-Cookie",
          },
          "portway-error": { schema: { type: "string" }, description: "present when the proxy failed" },
        },
        content: { "*/*": { schema: {} } },
      },
    },
  }]));
}

const FILES_ITEM: ApiObject = {
  parameters: [{ name: "path", in: "path", required: true, schema: { type: "string" } }],
  get: {
    tags: ["proxy"],
    operationId: "readFile",
    summary: "Reads a local file",
    security: SECURITY,
    responses: {
      200: { description: "the file", content: { "*/*": { schema: {} } } },
      206: { description: "the requested range", content: { "*/*": { schema: {} } } },
      304: { description: "it has not changed" },
      416: { description: "it has no such range" },
      default: toErrorResponse("refused, or no such file"),
    },
  },
};

const nullable = (type: string): ApiObject => ({ type: [type, "null"] });
const TEXTS: ApiObject = { type: ["object", "null"], additionalProperties: { type: "string" } };

const PROXYSCOTCH_REQUEST: ApiObject = {
  type: "object",
  required: ["method", "url"],
  properties: {
    method: { type: "string" },
    url: { type: "string" },
    accessToken: nullable("string"),
    wantsBinary: nullable("boolean"),
    headers: TEXTS,
    params: TEXTS,
    data: nullable("string"),
    auth: {
      type: ["object", "null"],
      properties: { username: nullable("string"), password: nullable("string") },
    },
  },
};

const PROXYSCOTCH_RESPONSE: ApiObject = {
  anyOf: [{
    type: "object",
    required: ["success", "isBinary", "status", "statusText", "headers", "data"],
    properties: {
      success: { type: "boolean", description: "always true" },
      isBinary: { type: "boolean" },
      status: { type: "integer" },
      statusText: { type: "string" },
      headers: { type: "object", additionalProperties: { type: "string" } },
      data: { type: "string", description: "base64 without padding where isBinary is true" },
    },
  }, {
    type: "object",
    required: ["success", "data"],
    properties: {
      success: { type: "boolean", description: "always false" },
      data: { type: "object", required: ["message"], properties: { message: { type: "string" } } },
    },
  }],
};

const PROXYSCOTCH_STATUS: ApiObject = {
  type: "object",
  required: ["success", "data"],
  properties: {
    success: { type: "boolean", description: "always true" },
    data: {
      type: "object",
      required: ["sessionFingerprint", "isProtected"],
      properties: { sessionFingerprint: { type: "string" }, isProtected: { type: "boolean" } },
    },
  },
};
