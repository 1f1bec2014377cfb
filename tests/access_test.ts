import { deepEqual, equal, ok } from "node:assert/strict";
import { createOriginReader } from "../net/forwarded.ts";
import { silentLogger } from "../common/log.ts";
import { type Scope, SCOPES } from "../server/access/mod.ts";
import { type FormName, startAccounts, type TestServer } from "../server/accounts/accounts_kit_test.ts";
import { openStore } from "../server/store/mod.ts";
import { makeTempDir, type Server, startServer } from "./kit/mod.ts";

/** Routes that any login may call, whatever its scopes. */
const FOR_ANY_SCOPE = ["GET /api/v1/whoami", "POST /api/v1/accounts/{id}/switch"];

/** A route of the API that asks who it is. */
interface Route {
  /** As the document has it. */
  name: string;
  method: string;
  template: string;
}

interface Person {
  /** By the scope that it has alone, or "all". */
  tokens: Record<string, string>;
  revoked: string;
  cookie: string;
  accountId: string;
}

const scopes = Object.keys(SCOPES) as Scope[];

/** The routes are taken from what the server says of itself, so that a new one is tested without a word here. */
async function readRoutes({ url }: Server): Promise<Route[]> {
  const document = await (await fetch(`${url}/api/v1/openapi.json`)).json();
  const operations = Object.entries<Record<string, { security?: object[] }>>(document.paths).flatMap(
    ([template, item]) => Object.entries(item).map(([method, operation]) => ({ template, method, operation })),
  );
  return operations.filter(({ operation }) => operation.security?.some((one) => "account" in one)).map((one) => {
    const method = one.method.toUpperCase();
    return { name: `${method} ${one.template}`, method, template: one.template };
  });
}

/** Makes a user, and what they show, by a second server on the same database. */
async function addPerson(accounts: TestServer, origin: string, email: string): Promise<Person> {
  const browser = accounts.browse();
  const post = async <Name extends FormName>(form: Name, body: unknown) =>
    (await browser.post(form, body, { origin })).body;
  await post("sign-up", { name: email, email, password: "12345678" });
  const make = async (given: readonly Scope[]) => await post("create-token", { name: "test", scopes: given, days: 1 });
  const tokens: Record<string, string> = { all: (await make(scopes)).token };
  for (const scope of scopes) tokens[scope] = (await make([scope])).token;
  const revoked = await make(scopes);
  await post("revoke-token", { id: revoked.info.id });
  const { account } = (await browser.request("/api/v1/whoami")).body;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { tokens, revoked: revoked.token, cookie, accountId: account.id };
}

/** What there is of the owner's for paths to name, by the beginning of the path. */
async function addThings({ url }: Server, owner: Person): Promise<Record<string, Record<string, string>>> {
  const headers = { authorization: `Bearer ${owner.tokens.all}`, "content-type": "application/json" };
  const post = async (path: string, body: unknown) =>
    await (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
  const view = await post("/api/v1/views", { name: "owner's" });
  await (await fetch(view.captureUrl, { method: "POST", body: "secret" })).body?.cancel();
  const { captures } = await (await fetch(`${url}/api/v1/views/${view.id}/captures`, { headers })).json();
  const tunnel = await post("/api/v1/tunnels", { name: "owners", defaultPort: 3000, allowedPorts: "all" });
  return {
    "/api/v1/views": { id: view.id, capture: captures[0].id },
    "/api/v1/tunnels": { id: tunnel.id ?? "none" },
    "/api/v1/accounts": { id: owner.accountId },
  };
}

function fill({ name, template }: Route, things: Record<string, Record<string, string>>): string {
  const area = Object.keys(things).find((prefix) => template.startsWith(prefix));
  return template.replace(/\{(\w+)\}/g, (_, parameter) => {
    const value = area === undefined ? undefined : things[area][parameter];
    ok(value !== undefined, `${name}: tell this test what stands for {${parameter}}`);
    return value;
  });
}

Deno.test("every route of the API refuses nobody, strangers, lesser and revoked tokens, and foreign pages", async (test) => {
  await using folder = await makeTempDir();
  await using server = await startServer({
    dataDir: folder.path,
    env: { PORTWAY_ADMIN_EMAIL: "admin@example.com", PORTWAY_ADMIN_PASSWORD: "12345678", PORTWAY_DEFAULT_PLAN: "paid" },
  });
  const store = await openStore({ dataDir: folder.path });
  const readOrigin = createOriginReader([]);
  const accounts = await startAccounts(store, {
    origin: server.url,
    admin: null,
    defaultPlan: "paid",
    log: silentLogger,
    readOrigin,
  });
  const owner = await addPerson(accounts, server.url, "owner@example.com");
  const stranger = await addPerson(accounts, server.url, "stranger@example.com");
  await accounts[Symbol.asyncDispose]();
  await store.close();
  const things = await addThings(server, owner);
  const routes = await readRoutes(server);
  ok(routes.length >= 20, `${routes.length} routes`);

  const ask = async (route: Route, headers: Record<string, string>) => {
    const body = route.method === "GET" || route.method === "DELETE" ? undefined : "{}";
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const leave = new AbortController();
    const response = await fetch(server.url + fill(route, things), {
      method: route.method,
      headers: { ...type, ...headers },
      body,
      signal: leave.signal,
    });
    const isStream = response.headers.get("content-type")?.includes("event-stream");
    const text = isStream ? "" : await response.text();
    if (isStream) leave.abort();
    const code = response.headers.get("portway-error");
    return { status: response.status, code, text };
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  for (const route of routes) {
    await test.step(route.name, async () => {
      equal((await ask(route, {})).status, 401, "nobody");
      equal((await ask(route, bearer("pwt_unknown"))).status, 401, "an unknown token");
      equal((await ask(route, bearer(owner.revoked))).status, 401, "a revoked token");
      for (const origin of ["https://evil.example", "http://x.try.localhost:80", "null"]) {
        const { status, code } = await ask(route, { cookie: owner.cookie, origin });
        deepEqual([status, code], [403, "foreign_origin"], `a page of ${origin}`);
      }
      if (route.method !== "GET") {
        equal((await ask(route, { cookie: owner.cookie })).code, "foreign_origin", "a page that does not say which");
      }
      if (!FOR_ANY_SCOPE.includes(route.name)) {
        const refused = [];
        for (const scope of scopes) {
          const { status, code, text } = await ask(route, bearer(stranger.tokens[scope]));
          if (status === 403 && code === "scope_missing") refused.push(/scope ([\w:]+)/.exec(text)?.[1]);
        }
        // All but one scope are not enough, and the answer names the one that is.
        equal(refused.length, scopes.length - 1, `refused for ${refused.join()}`);
        equal(new Set(refused).size, 1);
      }
      const { status, text } = await ask(route, bearer(stranger.tokens.all));
      if (route.template.includes("{")) equal(status, 404, `a stranger: ${text}`);
      else {
        for (const thing of Object.values(things)) ok(!text.includes(thing.id), `a stranger reads ${thing.id}`);
      }
    });
  }
  // The owner's own things are as they were, and theirs to read.
  for (const route of routes.filter(({ method }) => method === "GET")) {
    await test.step(`${route.name} for its owner`, async () => {
      for (const headers of [bearer(owner.tokens.all), { cookie: owner.cookie }]) {
        const { status, text } = await ask(route, headers as Record<string, string>);
        equal(status, 200, text);
      }
    });
  }
});

Deno.test("every route of the API refuses a query parameter that it does not have, or has twice", async () => {
  await using server = await startServer();
  const { paths } = await (await fetch(`${server.url}/api/v1/openapi.json`)).json() as {
    paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>>;
  };
  let routes = 0;
  for (const [template, item] of Object.entries(paths)) {
    if (!template.startsWith("/api/v1/")) continue;
    for (const [method, { parameters = [] }] of Object.entries(item)) {
      if (method === "parameters") continue;
      routes++;
      const known = parameters.find((parameter) => parameter.in === "query")?.name;
      for (const query of ["metod=GET", ...(known === undefined ? [] : [`${known}=1&${known}=2`])]) {
        const url = `${server.url}${template.replace(/\{\w+\}/g, "1")}?${query}`;
        const response = await fetch(url, { method: method.toUpperCase() });
        const { error } = await response.json();
        deepEqual([response.status, error.code, error.field], [400, "bad_request", query.split("=")[0]], url);
      }
    }
  }
  ok(routes >= 24, `${routes} routes`);
});

Deno.test("the OpenAPI document has only schemas that generators of clients read, and names each operation's security", async () => {
  await using server = await startServer();
  const document: unknown = await (await fetch(`${server.url}/api/v1/openapi.json`)).json();
  let operations = 0;
  const check = (value: unknown, path: string) => {
    if (typeof value !== "object" || value === null) return;
    if (Reflect.get(value, "items") === false) ok(false, `${path}: items is false`);
    if (typeof Reflect.get(value, "const") === "boolean") ok(false, `${path}: const is a boolean`);
    if (Reflect.has(value, "operationId")) {
      operations++;
      ok(Array.isArray(Reflect.get(value, "security")), `${path}: there is no security`);
    }
    for (const [key, inner] of Object.entries(value)) check(inner, `${path}/${key}`);
  };
  check(document, "");
  ok(operations >= 30, `${operations} operations`);
});
