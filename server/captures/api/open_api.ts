import {
  ACCOUNT_SECURITY,
  type ApiObject,
  type ApiPart,
  jsonResponseOf,
  toErrorResponse,
} from "../../../common/open_api.ts";
import { CHALLENGES } from "../receive/challenge.ts";
import { MAX_DECODED } from "../service/decoded_body.ts";

/** Captures on a page, and on a page with bodies, which together take some megabytes. */
export const MAX_LIMIT = 500, MAX_OPENED = 50;

const text: ApiObject = { type: "string" };
const count: ApiObject = { type: "integer", minimum: 0 };
const time: ApiObject = { type: "string", format: "date-time" };
const pairs: ApiObject = {
  type: "array",
  description: "pairs (name, value), one character per byte",
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
      description: "with status 200, no headers and no body the server sends its own short JSON",
    },
    delayMs: { type: "integer", minimum: 0, maximum: 60000 },
    cors: { type: "boolean", description: "whether pages of other origins may send anything and read the response" },
    template: {
      type: "boolean",
      description: "whether placeholders in headers and body are replaced by values from the call: {{query.NAME}}, " +
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
    captureUrl: { type: "string", format: "uri", description: "captures every request to this URL and below" },
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
    path: { ...text, description: "as received, one character per byte" },
    query: { type: ["string", "null"], description: "the part behind the first question mark" },
    httpVersion: { enum: ["1.0", "1.1", "2"] },
    headers: { ...pairs, description: "in the original order and case, with duplicates, one character per byte" },
    address: { ...text, description: "the sender's address" },
    bodySize: count,
    contentType: { type: ["string", "null"] },
  },
};

const OPENED: ApiObject = {
  allOf: [{ $ref: "#/components/schemas/Capture" }, {
    type: "object",
    properties: {
      body: { type: "string", contentEncoding: "base64", description: "left out for a body over 64 KiB" },
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
    url: { ...text, description: "the target with the capture's path" },
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

const MEMBERS = { security: ACCOUNT_SECURITY, tags: ["views"] };
const inPath = (name: string): ApiObject => ({ name, in: "path", required: true, schema: text });
const inQuery = (name: string, description: string, schema: ApiObject = text): ApiObject => ({
  name,
  in: "query",
  description,
  schema,
});
/** Filters. A capture has to match every given one. */
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
  401: toErrorResponse("the request has no login"),
  403: toErrorResponse("the token lacks the scope"),
  404: toErrorResponse("no such object in this account"),
};
const jsonBody = (schema: ApiObject, required = true): ApiObject => ({
  required,
  content: { "application/json": { schema } },
});

const VIEW_PATHS: Readonly<Record<string, ApiObject>> = {
  "/api/v1/views": {
    get: {
      ...MEMBERS,
      operationId: "listViews",
      summary: "List the account's views",
      responses: { 200: jsonResponseOf("Views", "oldest first"), 401: refused[401], 403: refused[403] },
    },
    post: {
      ...MEMBERS,
      operationId: "createView",
      summary: "Create a view",
      requestBody: jsonBody(
        { type: "object", properties: { name: { type: ["string", "null"], maxLength: 100 } } },
        false,
      ),
      responses: {
        201: jsonResponseOf("View", "the view, which captures from now on"),
        400: toErrorResponse("a field cannot be used"),
        401: refused[401],
        403: toErrorResponse("the token lacks the scope, or the account reached its limit"),
      },
    },
  },
  "/api/v1/views/{id}": {
    parameters: [inPath("id")],
    get: {
      ...MEMBERS,
      operationId: "getView",
      summary: "Get a view",
      responses: { 200: jsonResponseOf("View", "the view"), ...refused },
    },
    patch: {
      ...MEMBERS,
      operationId: "changeView",
      summary: "Change a view's name, response or limits",
      requestBody: jsonBody({
        type: "object",
        properties: {
          name: { type: "string", minLength: 1, maxLength: 100 },
          answer: { ...ANSWER, required: [], description: "missing members stay" },
          retentionDays: { type: "integer", minimum: 1 },
          maxCaptures: { type: "integer", minimum: 1 },
        },
      }),
      responses: {
        200: jsonResponseOf("View", "the changed view"),
        400: toErrorResponse("a field cannot be used"),
        ...refused,
      },
    },
    delete: {
      ...MEMBERS,
      operationId: "deleteView",
      summary: "Delete a view with its captures",
      responses: { 204: { description: "the view was deleted" }, ...refused },
    },
  },
};

const CAPTURE_PATHS: Readonly<Record<string, ApiObject>> = {
  "/api/v1/views/{id}/captures": {
    parameters: [inPath("id")],
    get: {
      ...MEMBERS,
      operationId: "listCaptures",
      summary: "List captures, newest first, that match every given filter",
      parameters: [
        ...FILTERS,
        inQuery("limit", "captures on a page", { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: 100 }),
        inQuery("bodies", `true: with bodies of up to 64 KiB, and at most ${MAX_OPENED} captures`, { type: "boolean" }),
      ],
      responses: {
        200: jsonResponseOf("Captures", "a page, which may be short although more follow"),
        400: toErrorResponse("a parameter cannot be used"),
        ...refused,
      },
    },
    delete: {
      ...MEMBERS,
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
      ...MEMBERS,
      operationId: "getCapture",
      summary: "Get a capture, with its body if that is short",
      responses: { 200: jsonResponseOf("OpenedCapture", "the capture"), ...refused },
    },
    delete: {
      ...MEMBERS,
      operationId: "deleteCapture",
      summary: "Delete a capture; it can be restored for ten minutes",
      responses: { 204: { description: "the capture was deleted" }, ...refused },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/restore": {
    parameters: [inPath("id"), inPath("capture")],
    post: {
      ...MEMBERS,
      operationId: "restoreCapture",
      summary: "Restore a capture that was deleted within ten minutes; each view keeps its last 20",
      responses: { 204: { description: "the capture is listed again" }, ...refused },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/body": {
    parameters: [inPath("id"), inPath("capture")],
    get: {
      ...MEMBERS,
      operationId: "getCaptureBody",
      summary: "Get a capture's body, byte for byte",
      parameters: [
        inQuery("decoded", "true: without the Content-Encoding (gzip, deflate, br or zstd)", {
          type: "boolean",
        }),
      ],
      responses: {
        200: {
          description:
            `the body; a decoded body breaks off behind ${MAX_DECODED} bytes, or at data that does not match its ` +
            "Content-Encoding, such as bytes behind the end of the encoded data",
          content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
        },
        400: toErrorResponse("a parameter cannot be used"),
        ...refused,
        415: toErrorResponse("the Content-Encoding is not supported"),
        422: toErrorResponse("the body does not match its Content-Encoding"),
      },
    },
  },
  "/api/v1/views/{id}/captures/{capture}/replay": {
    parameters: [inPath("id"), inPath("capture")],
    post: {
      ...MEMBERS,
      operationId: "replayCapture",
      summary: "Send a capture again, to a URL or to its view",
      description:
        "With a URL, this server sends the call as received: method, body, path and query below the view appended to " +
        "the URL's path, and all header fields except Host, Expect and those for a single connection. " +
        "`Portway-Capture` names the view. Redirects are not followed. Only public Internet addresses are allowed. " +
        "Without a URL, the view captures the call again, and its followers receive it.",
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
              "Parts that replace the captured ones, for a URL only. Texts have one character per byte, the body is base64.",
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
        200: jsonResponseOf("Replayed", "the response from the URL"),
        201: {
          description: "the view captured it again",
          content: {
            "application/json": { schema: { type: "object", required: ["capture"], properties: { capture: text } } },
          },
        },
        400: toErrorResponse("the URL cannot be used"),
        ...refused,
        403: toErrorResponse(
          "the token lacks the scope, the address is not allowed, or replays are disabled",
        ),
        429: toErrorResponse("the account reached its rate limit"),
        502: toErrorResponse("the URL is unreachable, or the response is not HTTP"),
        504: toErrorResponse("the response came too late"),
      },
    },
  },
  "/api/v1/views/{id}/stream": {
    parameters: [inPath("id")],
    get: {
      ...MEMBERS,
      operationId: "followView",
      summary: "Follow captures as server-sent events",
      description:
        "Events `capture` whose id is the cursor and whose data is an OpenedCapture, each once and in order. " +
        "`Last-Event-ID` works as `after`.",
      parameters: [
        inQuery("after", "cursor behind which the stream begins; without after and since it begins now", count),
        inQuery("since", "begin with captures received then or later: ISO 8601 or Unix milliseconds"),
      ],
      responses: {
        200: {
          description: "the stream continues until either side ends it",
          content: { "text/event-stream": { schema: text } },
        },
        429: toErrorResponse("the view has its maximum of streams"),
        ...refused,
      },
    },
  },
};

/** The OpenAPI part for views. */
export const VIEWS_API: ApiPart = {
  tag: { name: "views", description: "request views: addresses that capture all requests" },
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
        next: { type: ["integer", "null"], description: "`before` for the next page; null at the end" },
      },
    },
  },
};
