import type { ApiObject } from "../../../common/open_api.ts";

/** A route in the API reference. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: readonly { name: string; place: string; isRequired: boolean; description: string; type: string }[];
  body: readonly { mediaType: string; schema: ApiObject | null }[];
  responses: readonly { status: string; description: string; schema: ApiObject | null }[];
}

/** Routes with the same tag. */
export interface Group {
  name: string;
  description: string;
  operations: readonly Operation[];
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Reads an OpenAPI document's groups in tag order. Missing parts are left out. */
export function readGroups(document: ApiObject): Group[] {
  const operations = Object.entries(objectOf(document.paths)).flatMap(([path, item]) => {
    const routes = objectOf(item);
    return METHODS.filter((method) => method in routes).map((method) => {
      const route = objectOf(routes[method]);
      const shared = listOf(routes.parameters);
      return { tag: textOf(listOf(route.tags)[0]), operation: readOperation(document, method, path, route, shared) };
    });
  });
  return listOf(document.tags).map(objectOf).map((tag) => ({
    name: textOf(tag.name),
    description: textOf(tag.description),
    operations: operations.filter((one) => one.tag === tag.name).map(({ operation }) => operation),
  })).filter((group) => group.operations.length > 0);
}

function readOperation(
  document: ApiObject,
  method: string,
  path: string,
  route: ApiObject,
  shared: readonly unknown[],
): Operation {
  const content = objectOf(resolve(document, objectOf(route.requestBody)).content);
  return {
    id: `${method}-${path.replace(/[^a-z0-9]+/gi, "-")}`,
    method: method.toUpperCase(),
    path,
    summary: textOf(route.summary),
    description: textOf(route.description),
    parameters: [...shared, ...listOf(route.parameters)].map((one) => {
      const parameter = resolve(document, objectOf(one));
      return {
        name: textOf(parameter.name),
        place: textOf(parameter.in),
        isRequired: parameter.required === true,
        description: textOf(parameter.description),
        type: typeOf(objectOf(parameter.schema)),
      };
    }),
    body: Object.entries(content).map(([mediaType, media]) => ({ mediaType, schema: schemaOf(document, media) })),
    responses: Object.entries(objectOf(route.responses)).map(([status, one]) => {
      const response = resolve(document, objectOf(one));
      const json = objectOf(response.content)["application/json"];
      return { status, description: textOf(response.description), schema: schemaOf(document, json) };
    }),
  };
}

function schemaOf(document: ApiObject, media: unknown): ApiObject | null {
  const { schema } = objectOf(media);
  return schema === undefined ? null : resolve(document, objectOf(schema));
}

/** Follows a reference in the document; returns other objects unchanged. */
export function resolve(document: ApiObject, value: ApiObject): ApiObject {
  if (typeof value.$ref !== "string") return value;
  const names = value.$ref.replace(/^#\//, "").split("/");
  return objectOf(names.reduce<unknown>((part, name) => objectOf(part)[name], document));
}

/** Describes a schema's type in a word or two. */
export function typeOf(schema: ApiObject): string {
  if (typeof schema.$ref === "string") return schema.$ref.split("/").at(-1) ?? "";
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  for (const key of ["anyOf", "oneOf"]) {
    if (Array.isArray(schema[key])) return schema[key].map((one) => typeOf(objectOf(one))).join(" | ");
  }
  if (schema.type === "array") return `${typeOf(objectOf(schema.items)) || "any"}[]`;
  return Array.isArray(schema.type) ? schema.type.join(" | ") : textOf(schema.type);
}

/** Lists an object schema's fields. */
export function fieldsOf(
  schema: ApiObject,
): { name: string; type: string; isRequired: boolean; description: string }[] {
  const required = listOf(schema.required);
  return Object.entries(objectOf(schema.properties)).map(([name, one]) => {
    const field = objectOf(one);
    return { name, type: typeOf(field), isRequired: required.includes(name), description: textOf(field.description) };
  });
}

function objectOf(value: unknown): ApiObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
