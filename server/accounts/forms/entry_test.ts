import { deepEqual, equal, match, ok } from "node:assert/strict";
import { testStores } from "../../store/stores_kit_test.ts";
import { ADMIN, type FormName, recordingLogger, startAccounts } from "../accounts_kit_test.ts";

const ANNA = { name: "Anna Ant", email: "Anna@Example.com", password: "anna's password" };

testStores("who signs up has an account of their own, and stays signed in until they sign out", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  equal((await browser.request("/api/v1/whoami")).status, 401);
  equal((await browser.post("sign-up", ANNA)).status, 200);
  match(browser.setCookies.join(), /^portway\.session_token=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/);
  const { status, body } = await browser.request("/api/v1/whoami");
  equal(status, 200);
  deepEqual([body.user.email, body.user.isAdmin], ["anna@example.com", false]);
  deepEqual([body.account.name, body.account.role, body.account.plan], ["Anna Ant", "owner", "free"]);
  deepEqual(body.accounts, [body.account]);
  deepEqual(body.scopes, ["tunnels:use", "tunnels:write", "views:read", "views:write"]);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join();
  equal((await browser.post("sign-out")).status, 200);
  equal((await server.browse().request("/api/v1/whoami", { headers: { cookie } })).status, 401);
});

testStores("a wrong password, an unknown user and a bad form are told in words", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  const tryIt = async (form: FormName, body: object) => {
    const { status, body: { error } } = await browser.post(form, body);
    return [status, error.code, error.field];
  };
  deepEqual(await tryIt("sign-in", { ...ADMIN, password: "wrong" }), [401, "wrong_credentials", undefined]);
  deepEqual(await tryIt("sign-in", { ...ADMIN, email: "no@example.com" }), [401, "wrong_credentials", undefined]);
  deepEqual(await tryIt("sign-in", { ...ADMIN, password: "x".repeat(100_000).slice(0, 60_000) }), [
    400,
    "bad_request",
    "password",
  ]);
  deepEqual(await tryIt("sign-up", { ...ANNA, email: "anna" }), [400, "bad_request", "email"]);
  deepEqual(await tryIt("sign-up", { ...ANNA, email: "a@b.c\r\nBcc: d@e.f" }), [400, "bad_request", "email"]);
  deepEqual(await tryIt("sign-up", { ...ANNA, password: "short" }), [400, "bad_request", "password"]);
  deepEqual(await tryIt("sign-up", { ...ANNA, name: " " }), [400, "bad_request", "name"]);
  deepEqual(await tryIt("sign-up", { ...ANNA, email: ADMIN.email }), [409, "email_taken", undefined]);
  deepEqual(await tryIt("sign-in", { ...ADMIN, oauthQuery: "client_id=x&sig=y" }), [400, "login_expired", undefined]);
});

testStores("who tries too many passwords is told when to go on", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  for (let i = 0; i < 10; i++) equal((await browser.post("sign-in", { ...ADMIN, password: "" })).status, 400);
  const refused = await browser.post("sign-in", ADMIN);
  deepEqual([refused.status, refused.body.error.code], [429, "too_many_attempts"]);
  match(refused.headers.get("retry-after") ?? "", /^\d+$/);
  // Other networks may continue, unless an untrusted proxy claims to be one.
  equal((await browser.post("sign-in", ADMIN, { "x-forwarded-for": "203.0.113.7" })).status, 200);
});

testStores("the first user is an admin by the link in the log, which works once", async (store) => {
  const { log, lines } = recordingLogger();
  await using server = await startAccounts(store, { admin: null, log });
  equal(await server.accounts.entry.needsSetUp(), true);
  const link = String(lines.find(({ event }) => event === "set_up")?.fields.link);
  ok(link.startsWith(`${server.url}/setup?token=`), link);
  const token = new URL(link).searchParams.get("token");
  const browser = server.browse();
  equal((await browser.post("sign-up", ANNA)).body.error.code, "sign_up_closed");
  equal((await browser.post("set-up", { ...ANNA, token: "x" })).body.error.code, "set_up_link_invalid");
  equal((await browser.post("set-up", { ...ANNA, token })).status, 200);
  equal((await browser.request("/api/v1/whoami")).body.user.isAdmin, true);
  equal(await server.accounts.entry.needsSetUp(), false);
  equal(
    (await browser.post("set-up", { ...ANNA, email: "b@example.com", token })).body.error.code,
    "set_up_link_invalid",
  );
});

testStores("a change of the password ends other sessions and the logins of clients", async (store) => {
  await using server = await startAccounts(store);
  const here = server.browse(), there = server.browse();
  await here.post("sign-in", ADMIN);
  await there.post("sign-in", ADMIN);
  const changed = { current: ADMIN.password, password: "another password" };
  equal((await here.post("change-password", { ...changed, current: "no" })).status, 401);
  equal((await here.post("change-password", changed)).status, 200);
  equal((await here.request("/api/v1/whoami")).status, 200);
  equal((await there.request("/api/v1/whoami")).status, 401);
  equal((await there.post("sign-in", ADMIN)).status, 401);
  equal((await there.post("sign-in", { ...ADMIN, password: changed.password })).status, 200);
});

testStores("a link sets a new password once, and ends everything that was open", async (store) => {
  await using server = await startAccounts(store);
  const admin = server.browse(), anna = server.browse();
  await admin.post("sign-in", ADMIN);
  await anna.post("sign-up", ANNA);
  const { body: { token } } = await anna.post("create-token", { name: "CI", scopes: ["views:read"], days: null });
  const id = (await anna.request("/api/v1/whoami")).body.user.id;
  const { body: { link } } = await admin.post("reset-link", { id });
  const form = { token: new URL(link).searchParams.get("token"), password: "a new password" };
  equal((await server.browse().post("reset", form)).status, 200);
  equal((await server.browse().post("reset", form)).body.error.code, "link_invalid");
  equal((await anna.request("/api/v1/whoami")).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  equal((await server.browse().request("/api/v1/whoami", { headers })).status, 401);
  equal((await anna.post("sign-in", ANNA)).status, 401);
  equal((await anna.post("sign-in", { ...ANNA, password: form.password })).status, 200);
});

testStores("where sign-up is by invitation, only who was invited may", async (store) => {
  await using server = await startAccounts(store, { signUp: "invitation" });
  const admin = server.browse(), anna = server.browse();
  await admin.post("sign-in", ADMIN);
  equal((await anna.post("sign-up", ANNA)).body.error.code, "sign_up_closed");
  const { body: invitation } = await admin.post("invite", { email: "anna@example.com", role: "member" });
  equal(invitation.mailed, false);
  ok(invitation.url.endsWith(`/invitation/${invitation.id}`));
  const found = (await anna.post("find-invitation", { id: invitation.id })).body;
  deepEqual(found, { account: "admin", email: "anna@example.com", inviter: "admin", hasUser: false });
  const other = { ...ANNA, email: "eve@example.com", invitationId: invitation.id };
  equal((await anna.post("sign-up", other)).body.error.code, "sign_up_closed");
  equal((await anna.post("sign-up", { ...ANNA, invitationId: invitation.id })).status, 200);
  const { account, accounts } = (await anna.request("/api/v1/whoami")).body;
  deepEqual([account.name, account.role], ["admin", "member"]);
  equal(accounts.length, 2);
});
