/** A JSON Schema, or another object of an OpenAPI document, as plain data. */
export type ApiObject = { readonly [key: string]: unknown };

/** What one area says of its routes in OpenAPI 3.1: a piece of the document that {@link joinApi} makes of all. */
export interface ApiPart {
  /** Its group in the document, and what that is about. */
  tag: { name: string; description: string };
  /** Path items by their path. No two areas have the same one. */
  paths: Readonly<Record<string, ApiObject>>;
  /** Schemas by their name, for references to `#/components/schemas/<name>`. */
  schemas?: Readonly<Record<string, ApiObject>>;
  /** How callers show who they are, by name. */
  securitySchemes?: Readonly<Record<string, ApiObject>>;
}

/** The head of an OpenAPI document. */
export interface ApiInfo {
  title: string;
  version: string;
  /** Where the server is reached. */
  url: string;
}

/** An error of ours, which any route may answer with: {@link toErrorResponse}. */
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

/** `security` of routes for members of an account, by whichever token or session they show. */
export const ACCOUNT_SECURITY: readonly ApiObject[] = [{ account: [] }];

const ACCOUNT_SCHEME: ApiObject = {
  type: "http",
  scheme: "bearer",
  description: "an access token of a login, or a personal one; pages of HQ use its session",
};

/** The answer of a route that fails: JSON, and a stable code in a header. */
export function toErrorResponse(description: string): ApiObject {
  return {
    description,
    headers: { "portway-error": { schema: { type: "string" }, description: "stable code" } },
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

/** A successful answer in JSON, by the name of its schema. */
export function jsonResponseOf(schema: string, description: string): ApiObject {
  return { description, content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } } };
}

/**
 * The OpenAPI document of several areas.
 * @throws Error for two parts that have the same path, schema or security scheme
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
