/** The API of persistent tunnels: what its document says, who may do what, and what it refuses. */
import assert from "node:assert/strict";
import { z } from "zod";
import { startSite, visit } from "./kit.ts";
import { callApi, expose, makeTunnel, startTunnelServer } from "./kit/tunnel_server.ts";

interface Operation {
  operationId: string;
  security?: object[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const MINE = /^\/api\/v1\/(?:tunnels(?:\/\{id\}.*)?|usage)$/;

async function readDocument(server: { url: string }): Promise<Document> {
  return await (await visit(`${server.url}/api/v1/openapi.json`)).json() as Document;
}

function compile(document: Document, schema: object): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
}

/** Every route of persistent tunnels that the document has. */
function routesOf(document: Document): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).filter(([path]) => MINE.test(path)).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  );
}

const BODIES: Record<string, unknown> = {
  createTunnel: { name: "other", defaultPort: 80, allowedPorts: [8080, 80, 80] },
  changeTunnel: { defaultPort: 4000, enabled: true },
};

Deno.test("the OpenAPI document tells what each route of persistent tunnels answers, as it really does", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const document = await readDocument(server), tunnel = await makeTunnel(server, "ann");
  await using _exposed = await expose(server, { token: "ann", tunnel, service: site });
  await (await visit(`${tunnel.url}/text`)).bytes();
  const routes = routesOf(document);
  assert.equal(routes.length, 8);
  // What deletes comes last.
  for (const { method, path, operation } of routes.sort((one) => one.method === "DELETE" ? 1 : -1)) {
    const answer = await callApi(
      server,
      "ann",
      method,
      path.slice(7).replace("{id}", tunnel.id),
      BODIES[
        operation.operationId
      ],
    );
    const described = operation.responses[answer.status];
    assert(answer.status < 300 && described, `${method} ${path}: ${answer.status}`);
    assert.equal(answer.headers["cache-control"], "no-store", path);
    const text = await answer.text();
    const schema = described.content?.["application/json"].schema;
    if (schema === undefined) assert.equal(text, "");
    else assert.deepEqual(compile(document, schema).safeParse(JSON.parse(text)).error, undefined, path);
  }
});

Deno.test("every route of persistent tunnels refuses nobody, other accounts, and tokens without its scope", async () => {
  await using server = await startTunnelServer();
  server.members.add("reader", { accountId: "account-of-ann", scopes: ["tunnels:use"] });
  server.members.add("viewer", { accountId: "account-of-ann", scopes: ["views:read", "views:write"] });
  const document = await readDocument(server), tunnel = await makeTunnel(server, "ann");
  for (const { method, path, operation } of routesOf(document)) {
    const ask = async (token: string | null) => {
      const body = BODIES[operation.operationId];
      const answer = await callApi(server, token, method, path.slice(7).replace("{id}", tunnel.id), body);
      return [answer.status, answer.headers["portway-error"]];
    };
    const what = `${method} ${path}`;
    assert(operation.security !== undefined, what);
    assert.deepEqual(await ask(null), [401, "unauthorized"], what);
    assert.equal((await ask("unknown"))[0], 401, what);
    assert.deepEqual(await ask("viewer"), [403, "scope_missing"], what);
    if (method !== "GET") assert.deepEqual(await ask("reader"), [403, "scope_missing"], what);
    if (path.includes("{id}")) assert.deepEqual(await ask("bob"), [404, "tunnel_not_found"], what);
  }
  const { tunnels } = await (await callApi(server, "bob", "GET", "/tunnels")).json() as { tunnels: unknown[] };
  assert.deepEqual(tunnels, []);
});

Deno.test("input that cannot be used is refused by the name of its field, and changes nothing", async () => {
  await using server = await startTunnelServer();
  const tunnel = await makeTunnel(server, "ann", { allowedPorts: [3000, 8080] });
  const path = `/tunnels/${tunnel.id}`, good = { name: "good", defaultPort: 3000 };
  const cases: [method: string, path: string, body: unknown, field: string | undefined, status?: number][] = [
    ["POST", "/tunnels", {}, "name"],
    ["POST", "/tunnels", "{", undefined],
    ["POST", "/tunnels", [], undefined],
    ["POST", "/tunnels", { ...good, name: "Good" }, "name"],
    ["POST", "/tunnels", { ...good, name: "a--b" }, "name"],
    ["POST", "/tunnels", { ...good, name: "-a" }, "name"],
    ["POST", "/tunnels", { ...good, name: "a".repeat(41) }, "name"],
    ["POST", "/tunnels", { ...good, defaultPort: 0 }, "defaultPort"],
    ["POST", "/tunnels", { ...good, defaultPort: "3000" }, "defaultPort"],
    ["POST", "/tunnels", { ...good, allowedPorts: [] }, "allowedPorts"],
    ["POST", "/tunnels", { ...good, allowedPorts: [8080] }, "allowedPorts"],
    ["POST", "/tunnels", { ...good, allowedPorts: Array.from({ length: 101 }, (_, at) => at + 1) }, "allowedPorts"],
    ["POST", "/tunnels", { ...good, owner: "me" }, "owner"],
    ["POST", "/tunnels", { ...good, name: "app" }, "name", 409],
    ["POST", "/tunnels", JSON.stringify({ ...good, enabled: "x".repeat(70_000) }), undefined, 413],
    ["PATCH", path, { defaultPort: 9000 }, "allowedPorts"],
    ["PATCH", path, { name: "new" }, "name"],
    ["PATCH", path, { suspended: true }, "suspended"],
    ["GET", `${path}/usage?days=0`, undefined, "days"],
    ["GET", `${path}/usage?days=367`, undefined, "days"],
  ];
  for (const [method, path, body, field, status = 400] of cases) {
    const answer = await callApi(server, "ann", method, path, body);
    const { error } = await answer.json() as { error: { field?: string; message: string } };
    assert.deepEqual([answer.status, error.field], [status, field], `${method} ${path} ${error.message}`);
  }
  const { tunnels } = await (await callApi(server, "ann", "GET", "/tunnels")).json() as { tunnels: unknown[] };
  assert.deepEqual(tunnels, [tunnel]);
});

Deno.test("making tunnels needs a paid account, and ends at the account's limit", async () => {
  await using server = await startTunnelServer({ maxTunnelsPerAccount: "2" });
  const make = async (name: string) => {
    const answer = await callApi(server, "ann", "POST", "/tunnels", { name, defaultPort: 3000 });
    return [answer.status, answer.headers["portway-error"]];
  };
  server.members.all.get("ann")!.plan = "free";
  assert.deepEqual(await make("one"), [403, "plan_required"]);
  server.members.all.get("ann")!.plan = "paid";
  assert.deepEqual(await make("one"), [201, undefined]);
  assert.deepEqual(await make("two"), [201, undefined]);
  assert.deepEqual(await make("three"), [403, "too_many_tunnels"]);
  await makeTunnel(server, "bob", { name: "one" });
});
