import { deepEqual, equal, ok } from "node:assert/strict";
import { z } from "zod";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
  requestBody?: { content: Record<string, { schema: object }> };
}

interface Document {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const FLAGS = { proxyAllow: "127.0.0.1", proxyFiles: "docs", openPaths: "true" };

async function fetchDocument(url: string): Promise<Document> {
  const response = await fetch(`${url}/api/v1/openapi.json`);
  equal(response.headers.get("content-type"), "application/json");
  equal(response.headers.get("access-control-allow-origin"), "*");
  return await response.json();
}

/** What a schema of the document takes, its references resolved. */
function compile(document: Document, schema: object): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
}

function check(document: Document, schema: object, value: unknown, what: string): void {
  const { success, error } = compile(document, schema).safeParse(value);
  ok(success, `${what}: ${error?.message} ${JSON.stringify(value)}`);
}

Deno.test("the OpenAPI document tells what each route of the proxy takes and answers, as it really does", async () => {
  await using upstream = startTestUpstream((request) =>
    new URL(request.url).pathname === "/hop"
      ? new Response(null, { status: 302, headers: { "location": "/", "set-cookie": "a=1" } })
      : new Response("hello", { headers: { "content-type": "text/plain" } })
  );
  await using proxy = await startTestProxy(FLAGS);
  const document = await fetchDocument(proxy.url);
  equal(document.openapi, "3.1.0");
  const description = {
    url: `${upstream.url}/hop`,
    headers: { "x-a": ["1", "2"] },
    query: [["a", 1]],
    timeoutMs: 5000,
  };
  const scotch = { method: "GET", url: upstream.url, wantsBinary: true };
  const form = new URLSearchParams({ request: JSON.stringify({ url: upstream.url, method: "POST" }), a: "1" });
  const json = (body: unknown): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const cases: [path: string, template: string, init?: RequestInit][] = [
    ["/", "/"],
    ["/health", "/health"],
    ["/api/v1/openapi.json", "/api/v1/openapi.json"],
    ["/", "/", json(scotch)],
    ["/", "/", json({ ...scotch, url: "http://10.0.0.1/" })],
    ["/proxy/request", "/proxy/request"],
    ["/proxy/request", "/proxy/request", json(description)],
    ["/proxy/request", "/proxy/request", json({ url: upstream.url, body: { json: [1] }, responseType: "base64" })],
    ["/proxy/request", "/proxy/request", json({ url: upstream.url, stream: true })],
    ["/proxy/request", "/proxy/request", json(scotch)],
    ["/proxy/request", "/proxy/request", json({ url: "http://10.0.0.1/" })],
    ["/proxy/request", "/proxy/request", json({ url: upstream.url, method: 3 })],
    ["/proxy/form", "/proxy/form", { method: "POST", body: form }],
    ["/proxy/form", "/proxy/form", { method: "POST", body: "nothing" }],
    [`/proxy/fetch?url=${encodeURIComponent(upstream.url)}`, "/proxy/fetch"],
    [`/proxy/fetch/${upstream.url}`, "/proxy/fetch/{url}", { method: "PUT", body: "x" }],
    [`/${upstream.url}`, "/{url}"],
    ["/proxy/files/proxy.md", "/proxy/files/{path}"],
    ["/proxy/files/none", "/proxy/files/{path}"],
  ];
  for (const [path, template, init] of cases) {
    const method = (init?.method ?? "GET").toLowerCase();
    const what = `${method} ${path} ${init?.body}`;
    const operation = document.paths[template]?.[method];
    ok(operation, `${what} is not described`);
    const response = await fetch(proxy.url + path, init);
    const answer = operation.responses[response.status] ?? operation.responses.default;
    ok(answer, `${what}: no answer of status ${response.status} is described`);
    const type = response.headers.get("content-type")?.split(";", 1)[0] ?? "";
    const content = answer.content?.[type] ?? answer.content?.[`${type.split("/")[0]}/*`] ?? answer.content?.["*/*"];
    ok(content, `${what}: no answer of type ${type} is described`);
    const text = await response.text();
    if (type === "application/json") check(document, content.schema, JSON.parse(text), what);
    if (response.ok && init?.headers !== undefined && typeof init.body === "string") {
      const schema = operation.requestBody?.content["application/json"].schema ?? {};
      check(document, schema, JSON.parse(init.body), `request of ${what}`);
    }
  }
  deepEqual(new Set(cases.map(([, template]) => template)), new Set(Object.keys(document.paths)));
});

Deno.test("the OpenAPI document refuses what the proxy refuses, so that clients made of it do not send it", async () => {
  await using proxy = await startTestProxy(FLAGS);
  const document = await fetchDocument(proxy.url);
  const schema = compile(document, { $ref: "#/components/schemas/RequestDescription" });
  for (
    const wrong of [
      {},
      { url: 1 },
      { url: "http://a.test/", unknown: 1 },
      { url: "http://a.test/", method: "A B" },
      { url: "http://a.test/", headers: { "a b": "c" } },
      { url: "http://a.test/", headers: [["a", "line\nbreak"]] },
      { url: "http://a.test/", maxRedirects: 21 },
      { url: "http://a.test/", redirect: "maybe" },
      { url: "http://a.test/", auth: { type: "other" } },
    ]
  ) {
    const response = await proxy.request(wrong);
    equal(response.status, 400, JSON.stringify(wrong));
    await response.body?.cancel();
    equal(schema.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
});

Deno.test("the OpenAPI document names only what is there", async () => {
  await using proxy = await startTestProxy();
  const { paths } = await fetchDocument(proxy.url);
  for (const path of ["/{url}", "/proxy/files/{path}"]) equal(paths[path], undefined, path);
});
