import { deepEqual, equal } from "node:assert/strict";
import { fieldsOf, readGroups, resolve, typeOf } from "./document.ts";

const DOCUMENT = {
  tags: [{ name: "things", description: "about things" }, { name: "nothing", description: "" }],
  paths: {
    "/things/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      patch: {
        tags: ["things"],
        summary: "Change one",
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } },
        responses: { 200: { $ref: "#/components/responses/Ok" }, 404: { description: "none" } },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", description: "what it is called" },
          ports: { anyOf: [{ enum: ["all"] }, { type: "array", items: { type: "integer" } }] },
        },
      },
    },
    responses: {
      Ok: { description: "it", content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } },
    },
  },
};

Deno.test("readGroups tells of each route what a caller needs, references followed", () => {
  const [group, ...others] = readGroups(DOCUMENT);
  deepEqual([group.name, others.length], ["things", 0]);
  const [operation] = group.operations;
  deepEqual([operation.method, operation.path, operation.summary], ["PATCH", "/things/{id}", "Change one"]);
  deepEqual(operation.parameters.map(({ name, isRequired, type }) => [name, isRequired, type]), [[
    "id",
    true,
    "string",
  ]]);
  deepEqual(operation.responses.map(({ status, description }) => [status, description]), [["200", "it"], [
    "404",
    "none",
  ]]);
  deepEqual(operation.body[0].schema, DOCUMENT.components.schemas.Thing);
});

Deno.test("fieldsOf and typeOf say types in words", () => {
  deepEqual(fieldsOf(DOCUMENT.components.schemas.Thing), [
    { name: "name", type: "string", isRequired: true, description: "what it is called" },
    { name: "ports", type: '"all" | integer[]', isRequired: false, description: "" },
  ]);
  equal(typeOf({ $ref: "#/components/schemas/Thing" }), "Thing");
});

Deno.test("a document without what is asked for is told without it", () => {
  deepEqual(readGroups({}), []);
  deepEqual(resolve({}, { $ref: "#/components/schemas/Nothing" }), {});
});
