import { deepEqual, equal } from "node:assert/strict";
import { testStores } from "../../store/stores_kit_test.ts";
import { ADMIN, type Browser, type FormResponse, startAccounts, type TestServer } from "../accounts_kit_test.ts";

async function signUp(server: TestServer, name: string): Promise<Browser> {
  const browser = server.browse();
  const { status } = await browser.post("sign-up", { name, email: `${name}@example.com`, password: "12345678" });
  equal(status, 200);
  return browser;
}

/** Makes a browser's user a member of another user's account. */
async function join(owner: Browser, member: Browser, name: string, role: string): Promise<void> {
  const { body: { id } } = await owner.post("invite", { email: `${name}@example.com`, role });
  equal((await member.post("accept-invitation", { id })).status, 200);
}

const codeOf = async (answer: Promise<FormResponse<unknown>>) => (await answer).body.error?.code;
const idOf = async (browser: Browser, email: string) =>
  (await browser.post("members")).body.find((one) => one.email === email)?.id;

testStores("members come by invitation, change roles and go, as the roles allow", async (store) => {
  await using server = await startAccounts(store);
  const anna = await signUp(server, "anna"), bert = await signUp(server, "bert"), carl = await signUp(server, "carl");
  const { body: account } = await anna.post("create-account", { name: "Ants Ltd" });
  equal((await anna.post("switch", { id: account.id })).status, 200);
  await join(anna, bert, "bert", "admin");
  await join(bert, carl, "carl", "member");
  const members = (await carl.post("members")).body;
  deepEqual(members.map(({ name, role }) => [name, role]), [
    ["anna", "owner"],
    ["bert", "admin"],
    ["carl", "member"],
  ]);
  const [annaId, bertId, carlId] = members.map(({ id }: { id: string }) => id);
  equal(await codeOf(carl.post("invite", { email: "d@example.com", role: "member" })), "not_allowed");
  equal(await codeOf(carl.post("invitations")), "not_allowed");
  equal(await codeOf(carl.post("set-role", { id: carlId, role: "owner" })), "not_allowed");
  equal(await codeOf(carl.post("remove-member", { id: bertId })), "not_allowed");
  equal(await codeOf(carl.post("rename", { name: "Mine" })), "not_allowed");
  equal(await codeOf(bert.post("set-role", { id: bertId, role: "owner" })), "not_allowed");
  equal(await codeOf(bert.post("set-role", { id: annaId, role: "member" })), "not_allowed");
  equal(await codeOf(bert.post("remove-member", { id: annaId })), "not_allowed");
  equal(await codeOf(bert.post("invite", { email: "d@example.com", role: "owner" })), "not_allowed");
  equal(await codeOf(bert.post("invite", { email: "d@example.com", role: "king" })), "bad_request");
  equal(await codeOf(bert.post("invite", { email: "carl@example.com", role: "member" })), "already_member");
  equal(await codeOf(anna.post("remove-member", { id: annaId })), "last_owner");
  equal(await codeOf(anna.post("set-role", { id: annaId, role: "member" })), "last_owner");
  equal((await anna.post("set-role", { id: bertId, role: "owner" })).status, 200);
  equal((await anna.post("remove-member", { id: annaId })).status, 200);
  // A user who left continues in a remaining account.
  equal((await anna.request("/api/v1/whoami")).body.account.name, "anna");
  equal(await codeOf(anna.post("switch", { id: account.id })), "not_found");
  const actions = (await bert.post("audit")).body.map(({ action }) => action);
  deepEqual(actions.toReversed(), [
    "account_added",
    "member_invited",
    "member_added",
    "member_invited",
    "member_added",
    "role_changed",
    "member_removed",
  ]);
});

testStores(
  "who is taken out of an account loses the tokens for it at once, and is told of in this process",
  async (store) => {
    await using server = await startAccounts(store);
    const anna = await signUp(server, "anna"), bert = await signUp(server, "bert");
    await join(anna, bert, "bert", "member");
    const account = (await bert.request("/api/v1/whoami")).body.account;
    equal(account.name, "anna");
    const { body: { token } } = await bert.post("create-token", { name: "CI", scopes: ["tunnels:use"], days: 1 });
    const whoami = () => server.browse().request("/api/v1/whoami", { headers: { authorization: `Bearer ${token}` } });
    equal((await whoami()).body.account.name, "anna");
    const ended: unknown[] = [];
    server.accounts.onEnded((one) => ended.push(one));
    const userId = (await bert.request("/api/v1/whoami")).body.user.id;
    equal((await anna.post("remove-member", { id: await idOf(anna, "bert@example.com") })).status, 200);
    equal((await whoami()).status, 401);
    equal((await bert.request("/api/v1/whoami")).body.account.name, "bert");
    deepEqual(ended, [{ userId, accountId: account.id }]);
  },
);

testStores("an invitation is for one address, and can be cancelled", async (store) => {
  await using server = await startAccounts(store);
  const anna = await signUp(server, "anna"), bert = await signUp(server, "bert"), carl = await signUp(server, "carl");
  const { body: { id } } = await anna.post("invite", { email: "Bert@example.com", role: "member" });
  equal((await anna.post("invitations")).body.length, 1);
  equal(await codeOf(carl.post("accept-invitation", { id })), "other_address");
  equal(await codeOf(carl.post("cancel-invitation", { id })), "not_found");
  equal((await anna.post("cancel-invitation", { id })).status, 200);
  equal(await codeOf(bert.post("accept-invitation", { id })), "not_found");
  deepEqual((await anna.post("find-invitation", { id })).body, {});
});

testStores("an admin of the server sets plans and suspends, and what was open ends at once", async (store) => {
  await using server = await startAccounts(store);
  const anna = await signUp(server, "anna"), admin = server.browse();
  await admin.post("sign-in", ADMIN);
  const { user, account } = (await anna.request("/api/v1/whoami")).body;
  const own = (await admin.request("/api/v1/whoami")).body.user.id;
  for (const form of ["users", "set-plan", "suspend", "set-admin", "reset-link", "admin-audit"] as const) {
    equal(await codeOf(anna.post(form, { id: user.id, plan: "paid", on: true })), "not_allowed", form);
  }
  const { users, total } = (await admin.post("users", { search: "ANN" })).body;
  deepEqual([total, users[0].email, users[0].accounts[0].plan], [1, "anna@example.com", "free"]);
  equal((await admin.post("users", { search: "%" })).body.total, 0);
  equal((await admin.post("set-plan", { id: account.id, plan: "paid" })).status, 200);
  equal(await server.accounts.planOf(account.id), "paid");
  equal((await anna.request("/api/v1/whoami")).body.account.plan, "paid");
  const { body: { token } } = await anna.post("create-token", { name: "CI", scopes: ["tunnels:use"], days: 1 });
  const ended: unknown[] = [];
  server.accounts.onEnded((one) => ended.push(one));
  equal(await codeOf(admin.post("suspend", { id: own, on: true })), "own_user");
  equal((await admin.post("suspend", { id: user.id, on: true })).status, 200);
  deepEqual(ended, [{ userId: user.id, accountId: null }]);
  equal(await server.accounts.isSuspended(user.id), true);
  equal((await anna.request("/api/v1/whoami")).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  equal(await codeOf(server.browse().request("/api/v1/whoami", { headers })), "user_suspended");
  const signIn = { email: "anna@example.com", password: "12345678" };
  equal(await codeOf(anna.post("sign-in", signIn)), "user_suspended");
  equal((await admin.post("suspend", { id: user.id, on: false })).status, 200);
  equal((await anna.post("sign-in", signIn)).status, 200);
  const log = (await admin.post("admin-audit")).body.map((
    { action, actor },
  ) => [action, actor]);
  deepEqual(log.slice(0, 2), [["user_restored", ADMIN.email], ["user_suspended", ADMIN.email]]);
});
