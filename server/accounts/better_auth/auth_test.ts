import { deepEqual, equal } from "node:assert/strict";
import { getMigrations } from "better-auth/db/migration";
import { testStores } from "../../store/stores_kit_test.ts";
import { startAccounts } from "../accounts_kit_test.ts";
import { loadAuthOptions, sessionCookieOf } from "./auth_options.ts";
import { createSecret } from "../../../common/secret.ts";

const common = {
  secret: createSecret(),
  defaultPlan: "free",
  onDefect() {},
  onPasswordReset: () => Promise.resolve(),
} as const;

testStores("the tables are those that better-auth wants", async (store) => {
  const options = await loadAuthOptions({ ...common, store, origin: "http://localhost" }, () => Promise.resolve(""));
  const { toBeAdded, toBeCreated, compileMigrations } = await getMigrations(options);
  deepEqual([toBeCreated, toBeAdded], [[], []]);
  // Indexes are compared as well: `;` is the empty list of statements.
  equal((await compileMigrations()).replace(/[;\s]/g, ""), "");
});

testStores("several servers on one database agree, also when they begin at once", async (store) => {
  const one = await startAccounts(store), other = await startAccounts(store, { origin: one.url });
  await using _first = one, _second = other;
  const browser = one.browse();
  const who = { name: "Anna", email: "anna@example.com", password: "12345678" };
  const [signedUp] = await Promise.all([
    browser.post("sign-up", who),
    other.browse().post("sign-up", { ...who, email: "bert@example.com" }, { origin: one.url }),
  ]);
  equal(signedUp.status, 200);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const { status, body } = await other.browse().request("/api/v1/whoami", { headers: { cookie } });
  deepEqual([status, body.user?.name], [200, "Anna"]);
});

testStores("a user without an account gets one when they sign in", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  const user = { name: "Anna", email: "anna@example.com", password: "12345678" };
  equal((await browser.post("sign-up", user)).status, 200);
  await store.db.deleteFrom("member").where("userId", "=", (await browser.request("/api/v1/whoami")).body.user.id)
    .execute();
  equal((await browser.post("sign-in", user)).status, 200);
  equal((await browser.request("/api/v1/whoami")).body.account.name, "Anna");
});

testStores("with TLS the session's cookie is one that no other host can set or read", async (store) => {
  await using server = await startAccounts(store, { origin: "https://portway.example" });
  const browser = server.browse();
  const who = { email: "admin@example.com", password: "correct horse battery" };
  const { status } = await browser.post("sign-in", who, { origin: "https://portway.example" });
  equal(status, 200);
  const name = sessionCookieOf("https://portway.example");
  equal(name, "__Host-portway.session_token");
  const [, attributes] = browser.setCookies[0].split(/;(.*)/s);
  equal(browser.setCookies[0].split("=", 1)[0], name);
  deepEqual(attributes.split(";").map((one) => one.trim()).sort(), [
    "HttpOnly",
    "Max-Age=2592000",
    "Path=/",
    "SameSite=Lax",
    "Secure",
  ]);
});
