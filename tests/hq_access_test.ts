import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openPage, postForm, signInByForm, signUpByForm, startHq } from "./hq_kit.ts";
import type { Server } from "./kit/mod.ts";

/** What is in the account of the admin, for others to try. */
interface Targets {
  tunnel: string;
  view: string;
  member: string;
  invitation: string;
  token: string;
  account: string;
  user: string;
}

/** Pages that only their owner, or an admin, may see: their paths. */
const pagesOf = ({ tunnel, view }: Targets): string[] => [
  "/tunnels",
  "/tunnels/new",
  `/tunnels/${tunnel}`,
  `/tunnels/${tunnel}/edit`,
  "/views",
  `/views/${view}/capture`,
  `/views/${view}/capture/1`,
  `/views/${view}/settings`,
  "/account",
  "/account/usage",
  "/account/clients",
  "/account/tokens",
  "/account/security",
  "/account/audit",
  "/admin",
  "/admin/tunnels",
  "/admin/usage",
  "/admin/audit",
  "/authorize",
  "/device",
];

/** Every form that changes something of one's own: path and fields. */
const formsOf = (
  { tunnel, view, member, invitation, token, account, user }: Targets,
): [path: string, fields: Record<string, string>][] => [
  ["/tunnels", { name: "mine", defaultPort: "80", ports: "all", enabled: "yes" }],
  [`/tunnels/${tunnel}/edit`, { defaultPort: "81", ports: "all", enabled: "yes" }],
  [`/tunnels/${tunnel}/enabled`, { enabled: "no" }],
  [`/tunnels/${tunnel}/delete`, {}],
  ["/views", { name: "mine" }],
  [`/views/${view}/settings`, { name: "taken over", status: "200", delay: "0", days: "1", captures: "1" }],
  [`/views/${view}/clear`, {}],
  [`/views/${view}/delete`, {}],
  ["/account/invite", { email: "mallory@example.com", role: "owner" }],
  [`/account/invitations/${invitation}/cancel`, {}],
  [`/account/members/${member}/role`, { role: "member" }],
  [`/account/members/${member}/remove`, {}],
  ["/account/rename", { name: "Taken over" }],
  ["/account/switch", { account }],
  ["/account/new", { new_name: "Another" }],
  [`/account/clients/${token}/revoke`, {}],
  ["/account/tokens", { name: "mine", scope: "tunnels:write", days: "30" }],
  [`/account/tokens/${token}/revoke`, {}],
  [`/account/sessions/${token}/end`, {}],
  ["/account/security", { current: "x", password: "y y y y y y" }],
  [`/invitation/${invitation}`, {}],
  [`/admin/accounts/${account}/plan`, { plan: "free" }],
  [`/admin/users/${user}/suspended`, { suspended: "yes" }],
  [`/admin/users/${user}/admin`, { admin: "no" }],
  [`/admin/users/${user}/reset-link`, {}],
  [`/admin/tunnels/${tunnel}/suspended`, { suspended: "yes" }],
  ["/authorize", { query: "", answer: "authorize" }],
  ["/device", { user_code: "ABCD-EFGH", answer: "authorize" }],
];

/** What a form may be answered with that has done nothing. */
const REFUSED = [400, 401, 403, 404, 409, 429];

/** Gives the admin's account one of everything. */
async function plant(server: Server, cookie: string): Promise<Targets> {
  const made = await postForm(server, "/tunnels", cookie, {
    name: "shop",
    defaultPort: "3000",
    ports: "all",
    enabled: "yes",
  });
  const view = await postForm(server, "/views", cookie, { name: "hooks" });
  await postForm(server, "/account/invite", cookie, { email: "grace@example.com", role: "member" });
  await postForm(server, "/account/tokens", cookie, { name: "ci", scope: "tunnels:use", days: "30" });
  const read = async (path: string, pattern: RegExp) =>
    pattern.exec((await openPage(server.url + path, { headers: { cookie } })).text)?.[1] ?? "";
  return {
    tunnel: /\/tunnels\/([\w-]+)/.exec(made.header("location"))?.[1] ?? "",
    view: /\/views\/([\w-]+)/.exec(view.header("location"))?.[1] ?? "",
    member: await read("/account", /members\/([\w-]+)\/role/),
    invitation: await read("/account", /invitations\/([\w-]+)\/cancel/),
    token: await read("/account/tokens", /tokens\/([\w-]+)\/revoke/),
    account: await read("/admin", /accounts\/([\w-]+)\/plan/),
    user: (await fetchJson(server, "/api/v1/whoami", cookie)).user.id,
  };
}

async function fetchJson(server: Server, path: string, cookie: string): Promise<{ user: { id: string } }> {
  return JSON.parse((await openPage(server.url + path, { headers: { cookie, accept: "application/json" } })).text);
}

/** All that a page of the admin tells of what there is, to see that nothing changed. */
async function look(server: Server, cookie: string, { tunnel, view }: Targets): Promise<string[]> {
  const paths = [
    `/tunnels/${tunnel}/edit`,
    "/tunnels",
    "/account",
    "/account/tokens",
    `/views/${view}/settings`,
    "/admin/tunnels",
  ];
  return await Promise.all(paths.map(async (path) => {
    const { status, text } = await openPage(server.url + path, { headers: { cookie } });
    equal(status, 200, path);
    return text;
  }));
}

Deno.test("the forms that these tests try are all that pages of HQ have", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  await signUpByForm(server, "Grace");
  await signInByForm(server);
  const targets = await plant(server, cookie);
  const plain = (path: string) => path.replace(/[0-9a-f-]{36}|(?<=\/)\w{32}(?=\/|$)/g, "<id>");
  const known = new Set([...formsOf(targets).map(([path]) => plain(path)), "/sign-out"]);
  const found = new Set<string>();
  for (const path of pagesOf(targets)) {
    const { text } = await openPage(server.url + path, { headers: { cookie } });
    for (const [, action] of text.matchAll(/<form method="post" action="([^"]*)"/g)) found.add(plain(action));
  }
  ok(found.size > 15, [...found].join(" "));
  deepEqual([...found].filter((action) => !known.has(action)), []);
});

Deno.test("every page and form of HQ sends nobody to the sign-in page and does nothing for them", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const targets = await plant(server, cookie);
  ok(Object.values(targets).every((text) => text !== ""), JSON.stringify(targets));
  const before = await look(server, cookie, targets);
  for (const path of pagesOf(targets)) {
    const { status, header, text } = await openPage(server.url + path);
    deepEqual([status, header("location")], [303, `/sign-in?next=${encodeURIComponent(path)}`], path);
    equal(text, "");
  }
  for (const [path, fields] of formsOf(targets)) {
    const { status, header } = await postForm(server, path, "", fields);
    deepEqual([status, header("location")], [303, "/sign-in"], path);
  }
  deepEqual(await look(server, cookie, targets), before);
});

Deno.test("a form of HQ that comes from another origin does nothing, whoever has signed in", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const targets = await plant(server, cookie);
  const before = await look(server, cookie, targets);
  const forms = [...formsOf(targets), ["/sign-out", {}] as const, ["/sign-in", {}] as const, ["/sign-up", {}] as const];
  for (const origin of [server.url.replace("//", "//shop.tunnel."), "https://evil.example", "null"]) {
    for (const [path, fields] of forms) {
      const { status, header } = await postForm(server, path, cookie, fields, { origin });
      deepEqual([status, header("portway-error")], [403, "foreign_origin"], `${path} from ${origin}`);
    }
  }
  const sameSite = { "sec-fetch-site": "same-site" };
  for (const [path, fields] of forms) equal((await postForm(server, path, cookie, fields, sameSite)).status, 403, path);
  deepEqual(await look(server, cookie, targets), before);
});

Deno.test("a member of another account sees and changes nothing of this one, and is no admin", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const targets = await plant(server, cookie);
  const before = await look(server, cookie, targets);
  const stranger = await signUpByForm(server, "Mallory");
  for (const path of pagesOf(targets)) {
    const { status, text } = await openPage(server.url + path, { headers: { cookie: stranger } });
    const isTheirs = !path.includes(targets.tunnel) && !path.includes(targets.view) && !path.startsWith("/admin") &&
      path !== "/authorize";
    ok(isTheirs ? status === 200 : REFUSED.includes(status), `${path}: ${status}`);
    ok(!text.includes("shop") && !text.includes("ada@example.com"), path);
  }
  for (const [path, fields] of formsOf(targets)) {
    const own = /^\/(tunnels|views|account\/(invite|rename|new|tokens))$/.test(path);
    const { status, header } = await postForm(server, path, stranger, fields);
    if (!own) ok(REFUSED.includes(status), `${path}: ${status} ${header("location")}`);
  }
  const after = await look(server, cookie, targets);
  // Their own account shows up among the admin's users and tunnels; nothing of this one has changed.
  deepEqual(after.slice(0, 5), before.slice(0, 5));
  ok(!after[5].includes("Suspended"));
});

Deno.test("a member who manages nobody gets no forms of managers, and theirs are refused", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const targets = await plant(server, cookie);
  const email = "grace@example.com";
  const joined = await postForm(server, "/sign-up", "", {
    name: "Grace",
    email,
    password: "a long password",
    invitation: targets.invitation,
  });
  equal(joined.status, 303);
  const member = await signInByForm(server, { email, password: "a long password" });
  await postForm(server, "/account/switch", member, { account: targets.account });
  const page = await openPage(`${server.url}/account`, { headers: { cookie: member } });
  match(page.text, /ada@example\.com/);
  ok(!/action="\/account\/(invite|rename|members\/[\w-]+\/role)"/.test(page.text));
  for (const [path, fields] of formsOf(targets)) {
    if (!/^\/account\/(invite|rename|members)/.test(path)) continue;
    const { status } = await postForm(server, path, member, fields);
    ok(REFUSED.includes(status), `${path}: ${status}`);
  }
  equal((await openPage(`${server.url}/account/audit`, { headers: { cookie: member } })).status, 403);
});

Deno.test("a user sees where they are signed in, and signs another browser out", async () => {
  await using server = await startHq();
  const here = await signInByForm(server), there = await signInByForm(server);
  const { text } = await openPage(`${server.url}/account/security`, { headers: { cookie: here } });
  equal(text.match(/this one/g)?.length, 1);
  const ends = text.match(/\/account\/sessions\/[\w-]+\/end/g) ?? [];
  equal(ends.length, 1);
  equal((await postForm(server, ends[0], here)).status, 303);
  equal((await openPage(`${server.url}/tunnels`, { headers: { cookie: there } })).status, 303);
  equal((await openPage(`${server.url}/tunnels`, { headers: { cookie: here } })).status, 200);
});

Deno.test("a token opens no page of HQ", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const made = await postForm(server, "/account/tokens", cookie, { name: "ci", scope: "tunnels:use", days: "30" });
  const token = /pwt_[\w-]+/.exec(made.text)?.[0] ?? "";
  const cookies: Record<string, string>[] = [{}, { cookie: "other=1" }];
  for (const extra of cookies) {
    const { status } = await openPage(`${server.url}/tunnels`, {
      headers: { authorization: `Bearer ${token}`, ...extra },
    });
    equal(status, 303);
  }
});

Deno.test("forms that no page of HQ sends are refused in a word", async () => {
  await using server = await startHq();
  const cookie = await signInByForm(server);
  const large = await postForm(server, "/tunnels", cookie, { name: "x".repeat(70_000) });
  deepEqual([large.status, large.header("portway-error")], [413, "form_too_large"]);
  const json = await postForm(server, "/tunnels", cookie, { a: "b" }, { "content-type": "application/json" });
  deepEqual([json.status, json.header("portway-error")], [415, "unsupported_form"]);
  const broken: Record<string, string>[] = [
    {},
    { name: "a".repeat(41), defaultPort: "80" },
    { name: "a\nb", defaultPort: "-1" },
  ];
  for (const fields of broken) {
    equal((await postForm(server, "/tunnels", cookie, fields)).status, 400);
  }
  match((await postForm(server, "/tunnels", cookie, { name: "<b>", defaultPort: "80" })).text, /value="&lt;b&gt;"/);
});
