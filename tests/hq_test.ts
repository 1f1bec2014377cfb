import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { ADMIN, openPage, postForm, signInByForm, signUpByForm, startHq } from "./hq_kit.ts";
import { startServer } from "./kit/mod.ts";

const PROGRAM = { accept: "*/*" };

Deno.test("GET / is HQ's first page for browsers and the welcome text for programs", async () => {
  await using server = await startServer();
  const page = await openPage(server.url);
  equal(page.header("content-type"), "text/html; charset=utf-8");
  match(page.text, /<h1>Your local machine, on the Internet\.<\/h1>/);
  const text = await openPage(server.url, { headers: PROGRAM });
  match(text.text, /^Portway proxy\n/);
});

Deno.test("HQ's first page shows a tunnel's address as the server makes them, whatever the domain", async () => {
  const examples = [[[], "try.localhost"], [["--tunnel-domains", "t.example"], "t.example"]] as const;
  for (const [args, domain] of examples) {
    await using server = await startServer({ args });
    const made = await (await fetch(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" })).json();
    match(made.url, new RegExp(`^http://[a-z0-9]+\\.${domain}:${server.port}$`));
    const { text } = await openPage(server.url);
    ok(text.includes(`<b>http://k3vq7d.${domain}:${server.port}</b>`), text);
  }
});

Deno.test("pages of HQ run no script of others, cannot be framed, and tell other sites nothing", async () => {
  await using server = await startServer();
  for (const path of ["/", "/tunnels-of-nobody", "/hq"]) {
    const { header, text } = await openPage(server.url + path);
    const policy = header("content-security-policy");
    ok(policy.includes(`script-src ${server.url}/hq/;`), path);
    match(policy, /default-src 'none'.*form-action 'self'; base-uri 'none'; frame-ancestors 'none'/);
    ok(!policy.includes("unsafe"), path);
    equal(header("x-content-type-options"), "nosniff");
    equal(header("referrer-policy"), "same-origin");
    equal(header("cache-control"), "no-store");
    ok(!/ style="| on\w+="|<style|<script(?! type="module" src="\/hq\/)/.test(text), path);
  }
});

Deno.test("files of HQ's pages are kept for ever by their version, and asked for by tag without it", async () => {
  await using server = await startServer();
  const { text } = await openPage(server.url);
  const [address] = /\/hq\/[0-9a-f]{12}\/server\/hq\/assets\/layout\.css/.exec(text) ?? [];
  const kept = await openPage(server.url + address);
  match(kept.header("cache-control"), /immutable/);
  match(kept.header("content-type"), /^text\/css/);
  for (const other of ["/hq/layout.css", "/hq/000000000000/server/hq/assets/layout.css"]) {
    const latest = await openPage(server.url + other);
    deepEqual([latest.status, latest.header("cache-control")], [200, "no-cache"]);
    const again = await openPage(server.url + other, { headers: { "if-none-match": latest.header("etag") } });
    deepEqual([again.status, again.text], [304, ""]);
  }
  equal((await openPage(`${server.url}/hq/nothing.css`)).status, 404);
  equal((await openPage(`${server.url}/hq/..%2fhq.ts`)).status, 404);
});

Deno.test("HQ answers at its own host alone", async () => {
  await using server = await startServer();
  for (const host of ["127.0.0.1", "other.localhost", "localhost.example.com"]) {
    const { text } = await openPage(server.url, { headers: { host: `${host}:${server.port}` } });
    ok(!text.includes("Your local machine"), host);
  }
});

Deno.test("forms of HQ are refused from another origin, and without one", async () => {
  await using server = await startServer();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  for (const origin of [undefined, "null", "https://evil.example", server.url.replace("//", "//x.try.")]) {
    const sent = origin === undefined ? headers : { ...headers, origin };
    const { status, header } = await openPage(`${server.url}/sign-in`, { headers: sent, body: "a=b" });
    deepEqual([status, header("portway-error")], [403, "foreign_origin"]);
  }
});

Deno.test("a form that was opened at another address of the server says so, and what its operator does about it", async () => {
  await using server = await startServer();
  const { port } = new URL(server.url), other = "https://localhost:8443";
  const sent = { "content-type": "application/x-www-form-urlencoded", host: "localhost:8443", origin: other };
  const { status, text } = await openPage(`${server.url}/sign-in`, { headers: sent, body: "a=b" });
  equal(status, 403);
  ok(text.includes(`This page was opened at ${other}, and this server is http://localhost:${port}.`), text);
  match(text, /--url https:\/\/localhost:8443, or with --hq-url/);
});

Deno.test("an admin on the free plan is told where they set it, and others whom to ask", async () => {
  await using server = await startHq({ PORTWAY_DEFAULT_PLAN: "free" });
  const admin = await signInByForm(server), other = await signUpByForm(server, "Grace");
  const { text: tunnels } = await openPage(`${server.url}/tunnels`, { headers: { cookie: admin } });
  doesNotMatch(tunnels, /set the plan in Admin/, "the first admin has the paid plan");
  const { text: users } = await openPage(`${server.url}/admin?search=ada%40example.com`, {
    headers: { cookie: admin },
  });
  const account = /accounts\/([\w-]+)\/plan/.exec(users)?.[1];
  equal((await postForm(server, `/admin/accounts/${account}/plan`, admin, { plan: "free" })).status, 303);
  const read = async (cookie: string) => (await openPage(`${server.url}/tunnels`, { headers: { cookie } })).text;
  match(await read(admin), /<a href="\/admin\?search=ada%40example\.com">set the plan in Admin<\/a>/);
  match(await read(other), /which an admin of this server gives/);
});

Deno.test("an address that nobody has is a page of HQ for browsers and JSON for programs", async () => {
  await using server = await startServer();
  const page = await openPage(`${server.url}/nothing/here`);
  equal(page.status, 404);
  match(page.text, /There is nothing at this address\..*Go to the start page/s);
  const program = await openPage(`${server.url}/nothing/here`, { headers: PROGRAM });
  equal(JSON.parse(program.text).error.code, "not_found");
});

Deno.test("the session of HQ on https is a __Host- cookie that no script reads, and no other site sends", async () => {
  const origin = "https://hq.example.test";
  await using server = await startHq({ PORTWAY_URL: origin });
  const answer = await openPage(`http://127.0.0.1:${server.port}/sign-in`, {
    method: "POST",
    headers: { host: "hq.example.test", origin, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(ADMIN).toString(),
  });
  equal(answer.status, 303);
  const cookie = answer.header("set-cookie");
  match(cookie, /^__Host-/);
  for (const attribute of [/; HttpOnly/i, /; Secure/i, /; SameSite=Lax/i, /; Path=\/(;|$)/i]) match(cookie, attribute);
  ok(!/Domain=/i.test(cookie));
});

Deno.test("signing in continues at a path of any characters, and nowhere else", async () => {
  await using server = await startHq();
  const cases = [
    ["/。evil", "/%E3%80%82evil"],
    ["/views/x?name=Zoë&y=%C3%AB", "/views/x?name=Zo%C3%AB&y=%C3%AB"],
    ["/lone\ud800", "/lone%EF%BF%BD"],
    ["//evil.example", "/tunnels"],
    ["/\\evil.example", "/tunnels"],
    ["https://evil.example/", "/tunnels"],
  ];
  for (const [next, location] of cases) {
    const { status, header } = await postForm(server, "/sign-in", "", { ...ADMIN, next });
    deepEqual([status, header("location")], [303, location], next);
  }
});

Deno.test("an unsigned redirect_uri cannot change the policy of the sign-in page", async () => {
  await using server = await startHq();
  const targets = async (redirect: string) => {
    const query = new URLSearchParams({ client_id: "a", sig: "b", redirect_uri: redirect });
    const { header } = await openPage(`${server.url}/sign-in?${query}`);
    return /form-action ([^;]*)(?:;|$)/.exec(header("content-security-policy"))?.[1] + "|" +
      header("content-security-policy").includes("sandbox");
  };
  equal(await targets("http://localhost:7332/"), "'self' http://localhost:7332|false");
  equal(await targets("http://127.0.0.1:5000/x"), "'self' http://127.0.0.1:5000|false");
  for (
    const redirect of [
      "http://x;sandbox",
      "http://a;sandbox.localhost/",
      "http://*.localhost/",
      "https://evil.example/",
    ]
  ) {
    equal(await targets(redirect), "'self'|false", redirect);
  }
});

Deno.test("the address of a view leads to its captures", async () => {
  await using server = await startHq();
  const { status, header } = await openPage(`${server.url}/views/a-view`);
  deepEqual([status, header("location")], [303, "/views/a-view/capture"]);
});

Deno.test("the tunnel form names every problem in one response", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const fields = { name: "Not A Name", defaultPort: "70000", ports: "some", allowedPorts: "x-y", enabled: "yes" };
  const { status, text } = await postForm(server, "/tunnels", cookie, fields);
  equal(status, 400);
  for (const field of ["name", "defaultPort", "allowedPorts"]) match(text, new RegExp(`id="${field}-problem"`), field);
});

Deno.test("revoking a token or a client asks first, with scripts and without", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  await postForm(server, "/account/tokens", cookie, { name: "CI", scope: "tunnels:use", days: "30" });
  const read = async (path: string) => (await openPage(server.url + path, { headers: { cookie } })).text;
  const page = await read("/account/tokens"), id = /\/account\/tokens\/([\w-]+)\/revoke/.exec(page)?.[1] ?? "";
  match(page, new RegExp(`<a[^>]*href="/account/tokens\\?ask=revoke-${id}"[^>]*data-dialog="revoke-${id}"`));
  const dialog = (text: string) => new RegExp(`<dialog id="revoke-${id}"[^>]*>.*?</dialog>`, "s").exec(text)?.[0] ?? "";
  match(dialog(page), new RegExp(`action="/account/tokens/${id}/revoke"`));
  equal(/ open/.test(dialog(page).split(">")[0]), false);
  match(dialog(await read(`/account/tokens?ask=revoke-${id}`)).split(">")[0], / open/);
  equal(page.split(`action="/account/tokens/${id}/revoke"`).length, 2, "no form revokes without the question");
});

Deno.test("the settings of a view configure placeholders and the challenge of a provider, and keep its secret", async () => {
  await using server = await startHq();
  const cookie = await signUpByForm(server, "Ann");
  const made = await fetch(`${server.url}/api/v1/views`, { method: "POST", headers: { cookie, origin: server.url } });
  const { id, captureUrl } = await made.json();
  const path = `/views/${id}/settings`;
  const fields = {
    name: "Calls",
    status: "200",
    headers: "",
    body: "call {{id}}",
    delay: "0",
    days: "30",
    captures: "9",
  };
  const save = async (more: Record<string, string>) =>
    equal((await postForm(server, path, cookie, { ...fields, ...more })).status, 303);
  const challenge = '{"event":"endpoint.url_validation","payload":{"plainToken":"t"}}';
  const respond = async (body: string) => await (await fetch(captureUrl, { method: "POST", body })).text();
  await save({ template: "yes", challenge: "zoom", secret: " s3cret " });
  const signed = await respond(challenge);
  match(signed, /^\{"plainToken":"t","encryptedToken":"[0-9a-f]{64}"\}$/);
  equal(await respond("other"), "call 2");
  const { text } = await openPage(server.url + path, { headers: { cookie } });
  ok(!text.includes("s3cret") && text.includes("A secret is stored"), text);
  await save({ challenge: "zoom", secret: "" });
  equal(await respond(challenge), signed);
  equal(await respond("other"), "call {{id}}");
  await save({ challenge: "" });
  equal(await respond(challenge), "call {{id}}");
});
