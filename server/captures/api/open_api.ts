import {
  ACCOUNT_SECURITY,
  type ApiObject,
  type ApiPart,
  jsonResponseOf,
  toErrorResponse,
} from "../../../common/open_api.ts";
import { CHALLENGES } from "../receive/challenge.ts";
import { MAX_DECODED } from "../service/decoded_body.ts";

/** Captures on a page, and on a page with the beginnings of their bodies, which have some megabytes together. */
export const MAX_LIMIT = 500, MAX_OPENED = 50;

const text: ApiObject = { type: "string" };
const count: ApiObject = { type: "integer", minimum: 0 };
const time: ApiObject = { type: "string", format: "date-time" };
const pairs: ApiObject = {
  type: "array",
  description: "names and values, one character a byte",
  items: { type: "array", prefixItems: [text, text], minItems: 2, maxItems: 2 },
};

const ANSWER: ApiObject = {
  type: "object",
  required: ["status", "headers", "body", "delayMs", "cors", "template", "challenge"],
  properties: {
    status: { type: "integer", minimum: 200, maximum: 599 },
    headers: pairs,
    body: {
      ...text,
      description: "with status 200, no headers and no body the server answers a short JSON of its own",
    },
    delayMs: { type: "integer", minimum: 0, maximum: 60000 },
    cors: { type: "boolean", description: "whether pages of other origins may send anything and read the response" },
    template: {
      type: "boolean",
      description: "whether placeholders in headers and body stand for values of the call: {{query.NAME}}, " +
        "{{header.NAME}}, {{form.NAME}}, {{json.PATH}}, {{id}}, {{method}}, {{path}}",
    },
    challenge: {
      type: ["string", "null"],
      enum: [...CHALLENGES, null],
      description: "the provider whose verification challenge gets its own response",
    },
    challengeSecret: {
      type: ["string", "null"],
      writeOnly: true,
      maxLength: 500,
      description: "Zoom's secret token or Meta's verify token",
    },
    hasChallengeSecret: { type: "boolean", readOnly: true, description: "whether a secret is stored" },
  },
};

const VIEW: ApiObject = {
  type: "object",
  required: ["id", "name", "number", "captureUrl", "browserUrl", "createdAt", "captures", "bytes", "lastCaptureAt"],
  properties: {
    id: { type: "string", format: "uuid" },
    name: text,
    number: { ...count, description: "counts up within the account" },
    captureUrl: { type: "string", format: "uri", description: "what is sent here, or below it, is captured" },
    browserUrl: { type: "string", format: "uri" },
    createdAt: time,
    captures: count,
    bytes: count,
    lastCaptureAt: { type: ["string", "null"], format: "date-time" },
    answer: { $ref: "#/components/schemas/ViewResponse" },
    retentionDays: { type: "integer", minimum: 1 },
    maxCaptures: { type: "integer", minimum: 1 },
  },
};

const CAPTURE: ApiObject = {
  type: "object",
  required: ["id", "cursor", "receivedAt", "method", "host", "path", "query", "httpVersion", "headers", "bodySize"],
  properties: {
    id: { ...text, description: "unique within its view" },
    cursor: { ...count, description: "counts up within its view" },
    receivedAt: time,
    method: text,
    host: text,
    path: { ...text, description: "as it was sent, one character a byte" },
    query: { type: ["string", "null"], description: "what is behind the first question mark" },
    httpVersion: { enum: ["1.0", "1.1", "2"] },
    headers: { ...pairs, description: "in their order and case, duplicates too, one character a byte" },
    address: { ...text, description: "of the sender" },
    bodySize: count,
    contentType: { type: ["string", "null"] },
  },
};

const OPENED: ApiObject = {
  allOf: [{ $ref: "#/components/schemas/Capture" }, {
    type: "object",
    properties: {
      body: { type: "string", contentEncoding: "base64", description: "left out when it is longer than 64 KiB" },
      trailers: { ...pairs, description: "trailer fields; left out where there are none" },
      bodyTruncated: {
        type: "boolean",
        description: "true for a longer body, which has its own path; left out otherwise",
      },
    },
  }],
};

const REPLAYED: ApiObject = {
  type: "object",
  required: ["url", "status", "statusText", "headers", "durationMs", "body"],
  properties: {
    url: { ...text, description: "where it was sent, with the capture's path" },
    status: { type: "integer" },
    statusText: text,
    headers: pairs,
    durationMs: count,
    body: { type: "string", contentEncoding: "base64", description: "the first 64 KiB" },
    bodyTruncated: { type: "boolean", description: "true where the body is longer or broke off; left out otherwise" },
    decoded: {
      type: "string",
      contentEncoding: "base64",
      description:
        "the first 512 KiB of what is in that under its Content-Encoding, where it has one that is undone here",
    },
    decodedTruncated: { type: "boolean", description: "true where the body has more; left out otherwise" },
  },
};

const who = { security: ACCOUNT_SECURITY, tags: ["views"] };
const inPath = (name: string): ApiObject => ({ name, in: "path", required: true, schema: text });
const inQuery = (name: string, description: string, schema: ApiObject = text): ApiObject => ({
  name,
  in: "query",
  description,
  schema,
});
/** Filters of captures. A capture has to match all that are given. */
const FILTERS: readonly ApiObject[] = [
  inQuery("after", "with a cursor behind this one", count),
  inQuery("before", "with a cursor before this one, such as `next` of the page before", count),
  inQuery("method", "exactly this method"),
  inQuery("path", "a part of path or query, in any case"),
  inQuery("q", "a part of the head or of the first 64 KiB of the body, in any case"),
  inQuery("from", "received then or later: ISO 8601 or Unix milliseconds"),
  inQuery("to", "received before"),
];
const refused = {
  401: toErrorResponse("nobody is logged in"),
  403: toErrorResponse("the token lacks the scope"),
  404: toErrorResponse("there is none of that id in this account"),
};
const jsonBody = (schema: ApiObject, required = true): ApiObject => ({
  required,
  content: { "application/json": { schema } },
});

const VIEW_PATHS: Readonly<Record<string, ApiObject>> = {
  "/api/v1/views": {
    get: {
      ...who,
      operationId: "listViews",
      summary: "The views of the account",
      responses: { 200: jsonResponseOf("Views", "oldest first"), 401: refused[401], 403: refused[403] },
    },
    post: {
      ...who,
      operationId: "createView",
      summary: "Make a view",
      requestBody: jsonBody(
        { type: "object", properties: { name: { type: ["string", "null"], maxLength: 100 } } },
        false,
      ),
      responses: {
        201: jsonResponseOf("View", "it is there, and captures"),
        400: toErrorResponse("a field cannot be used"),
        401: refused[401],
        403: toErrorResponse("the token lacks the scope, or the account has as many as it may"),
      },
    },
  },
  "/api/v1/views/{id}": {
    parameters: [inPath("id")],
    get: {
      ...who,
      operationId: "getView",
      summary: "Look one up",
      responses: { 200: jsonResponseOf("View", "it"), ...refused },
    },
    patch: {
      ...who,
      operationId: "changeView",
      summary: "Change its name, its answer or its limits",
      requestBody: jsonBody({
        type: "object",
        properties: {
          name: { type: "string", minLength: 1, maxLength: 100 },
          answer: { ...ANSWER, required: [], description: "members that are left out stay" },
          retentionDays: { type: "integer", minimum: 1 },
          maxCaptures: { type: "integer", minimum: 1 },
        },
      }),
      responses: {
        200: jsonResponseOf("View", "as it is now"),
        400: toErrorResponse("a field cannot be used"),
        ...refused,
      },
    },
    delete: {
      ...who,
      operationId: "deleteView",
      summary: "Delete it and all that it captured",
      responses: { 204: { description: "it is gone" }, ...refused },
    },
  },
};

const CAPTURE_PATHS: Readonly<Record<string, ApiObject>> = {
  "/api/v1/views/{id}/captures": {
    parameters: [inPath("id")],
    get: {
      ...who,
      operationId: "listCaptures",
      summary: "What it captured, newest first; all that is asked for must fit",
      parameters: [
        ...FILTERS,
        inQuery("limit", "captures on a page", { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: 100 }),
        inQuery("bodies", `true: with bodies of up to 64 KiB, and at most ${MAX_OPENED} captures`, { type: "boolean" }),
      ],
      responses: {
        200: jsonResponseOf("Captures", "a page, which may be short and still not the last"),
        400: toErrorResponse("a parameter cannot be used"),
        ...refused,
      },
    },
    delete: {
      ...who,
      operationId: "deleteCaptures",
      summary: "Delete captures: all until now, or those that match every given filter",
      parameters: FILTERS,
      responses: {
        200: {
          description: "the number of deleted captures",
          content: { "application/json": { schema: { type: "object", properties: { removed: count } } } },
        },
        400: toErrorResponse("a parameter cannot be used"),
        ...refused,
      },
    },
  },
  "/api/v1/views/{id}/captures/{capture}": {
    parameters: [inPath("id"), inPath("capture")],
    get: {
      ...who,
      operationId: "getCapture",
      summary: "One capture, with its body when that is short",
      responses: { 200: jsonResponseOf("OpenedCapture", "it"), ...refused },
    },
    delete: {
      ...who,
      operationId: "deleteCapture",
      summary: "Delete one; it can be restored for ten minutes",
      responses: { 204: { description: "it was deleted" }, ...refused },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/restore": {
    parameters: [inPath("id"), inPath("capture")],
    post: {
      ...who,
      operationId: "restoreCapture",
      summary: "Restore one that was deleted within ten minutes; the last 20 of a view can be",
      responses: { 204: { description: "it is listed again" }, ...refused },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/body": {
    parameters: [inPath("id"), inPath("capture")],
    get: {
      ...who,
      operationId: "getCaptureBody",
      summary: "Its body, byte for byte",
      parameters: [
        inQuery("decoded", "true: without its Content-Encoding, where that is gzip, deflate, br or zstd", {
          type: "boolean",
        }),
      ],
      responses: {
        200: {
          description:
            `it; decoded it is cut off, and the connection with it, behind ${MAX_DECODED} bytes, or where it ` +
            "turns out not to be what its Content-Encoding says, as with bytes behind the end of what is coded",
          content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
        },
        400: toErrorResponse("a parameter cannot be used"),
        ...refused,
        415: toErrorResponse("its Content-Encoding is none that is undone here"),
        422: toErrorResponse("it is not what its Content-Encoding says"),
      },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/replay": {
    parameters: [inPath("id"), inPath("capture")],
    post: {
      ...who,
      operationId: "replayCapture",
      summary: "Send one again, to a URL or to its view",
      description:
        "To a URL it goes from this server, as it came: method, the path and query below the view behind the path of " +
        "the URL, the body's bytes, and all header fields but Host, Expect and those of one connection; with " +
        "`Portway-Capture`, which names the view. Redirects are not followed. Only addresses of the public Internet " +
        "can be sent to. Without a URL its view captures it once more, and whoever follows the view gets it.",
      requestBody: jsonBody({
        type: "object",
        properties: {
          url: {
            type: ["string", "null"],
            format: "uri",
            maxLength: 2000,
            description: "http or https, without a query",
          },
          edit: {
            type: "object",
            description:
              "Parts that replace those of the capture, for a URL only. Texts have one character a byte, the body is base64.",
            properties: {
              method: text,
              path: { type: "string", description: "path and query below the view" },
              headers: { type: "array", items: { type: "array", items: text, minItems: 2, maxItems: 2 } },
              body: { type: "string", contentEncoding: "base64" },
            },
          },
        },
      }, false),
      responses: {
        200: jsonResponseOf("Replayed", "what the URL answered"),
        201: {
          description: "the view captured it again",
          content: {
            "application/json": { schema: { type: "object", required: ["capture"], properties: { capture: text } } },
          },
        },
        400: toErrorResponse("the URL cannot be used"),
        ...refused,
        403: toErrorResponse(
          "the token lacks the scope, the address is none to be sent to, or this server sends nothing",
        ),
        429: toErrorResponse("the account has sent as many as it may for now"),
        502: toErrorResponse("the URL cannot be reached, or did not answer with HTTP"),
        504: toErrorResponse("there was no answer in time"),
      },
    },
  },
  "/api/v1/views/{id}/stream": {
    parameters: [inPath("id")],
    get: {
      ...who,
      operationId: "followView",
      summary: "Captures as they come, as server-sent events",
      description:
        "Events `capture` whose id is the cursor and whose data is an OpenedCapture, each once and in order. " +
        "`Last-Event-ID` works as `after`.",
      parameters: [
        inQuery("after", "cursor behind which the stream begins; without after and since it begins now", count),
        inQuery("since", "begin with captures received then or later: ISO 8601 or Unix milliseconds"),
      ],
      responses: {
        200: {
          description: "it goes on until either side ends it",
          content: { "text/event-stream": { schema: text } },
        },
        429: toErrorResponse("as many follow it as may"),
        ...refused,
      },
    },
  },
};

/** What the OpenAPI document says of views. */
export const VIEWS_API: ApiPart = {
  tag: { name: "views", description: "request views: addresses that capture whatever is sent to them" },
  paths: { ...VIEW_PATHS, ...CAPTURE_PATHS },
  schemas: {
    ViewResponse: ANSWER,
    View: VIEW,
    Views: {
      type: "object",
      required: ["views"],
      properties: { views: { type: "array", items: { $ref: "#/components/schemas/View" } } },
    },
    Capture: CAPTURE,
    OpenedCapture: OPENED,
    Replayed: REPLAYED,
    Captures: {
      type: "object",
      required: ["captures", "next"],
      properties: {
        captures: { type: "array", items: { $ref: "#/components/schemas/Capture" } },
        next: { type: ["integer", "null"], description: "`before` of the next page; null behind the last" },
      },
    },
  },
};
