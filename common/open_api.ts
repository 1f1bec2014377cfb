/** A JSON Schema or other OpenAPI object as plain data. */
export type ApiObject = { readonly [key: string]: unknown };

/** One area's part in the OpenAPI 3.1 document. {@link joinApi} joins all parts. */
export interface ApiPart {
  /** The group in the document, with a description. */
  tag: { name: string; description: string };
  /** Path items by path, unique across areas. */
  paths: Readonly<Record<string, ApiObject>>;
  /** Schemas by name, for references to `#/components/schemas/<name>`. */
  schemas?: Readonly<Record<string, ApiObject>>;
  /** Security schemes by name. */
  securitySchemes?: Readonly<Record<string, ApiObject>>;
}

/** Information at the start of an OpenAPI document. */
export interface ApiInfo {
  title: string;
  version: string;
  /** The server's address. */
  url: string;
}

/** An error response, which any route can return: {@link toErrorResponse}. */
const ERROR_SCHEMA: ApiObject = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { description: "stable; also in the header portway-error" },
        message: { type: "string", description: "for people; its wording may change" },
        details: { type: "string", description: "what can be done about it" },
        field: { type: "string", description: "the field of the request that cannot be used" },
      },
    },
  },
};

/** `security` for account routes, with a token or a session. */
export const ACCOUNT_SECURITY: readonly ApiObject[] = [{ account: [] }];

const ACCOUNT_SCHEME: ApiObject = {
  type: "http",
  scheme: "bearer",
  description: "an access token of a login, or a personal one; pages of HQ use its session",
};

/** Describes an error response: JSON, with a stable code in a header. */
export function toErrorResponse(description: string): ApiObject {
  return {
    description,
    headers: { "portway-error": { schema: { type: "string" }, description: "stable code" } },
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

/** Describes a successful JSON response by schema name. */
export function jsonResponseOf(schema: string, description: string): ApiObject {
  return { description, content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } } };
}

/**
 * Joins all parts into an OpenAPI document.
 * @throws Error when two parts share a path, schema or security scheme
 */
export function joinApi({ title, version, url }: ApiInfo, parts: readonly ApiPart[]): ApiObject {
  return {
    openapi: "3.1.0",
    info: { title, version },
    servers: [{ url }],
    tags: parts.map(({ tag }) => tag),
    paths: joinNames("path", parts.map(({ paths }) => paths)),
    components: {
      schemas: joinNames("schema", [{ Error: ERROR_SCHEMA }, ...parts.map(({ schemas = {} }) => schemas)]),
      securitySchemes: joinNames("security scheme", [
        { account: ACCOUNT_SCHEME },
        ...parts.map(({ securitySchemes = {} }) => securitySchemes),
      ]),
    },
  };
}

function joinNames(what: string, all: readonly Readonly<Record<string, ApiObject>>[]): Record<string, ApiObject> {
  const joined: Record<string, ApiObject> = {};
  for (const [name, value] of all.flatMap((one) => Object.entries(one))) {
    if (Object.hasOwn(joined, name)) throw new Error(`two areas describe the ${what} "${name}"`);
    joined[name] = value;
  }
  return joined;
}
