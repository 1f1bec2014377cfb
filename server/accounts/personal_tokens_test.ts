import { deepEqual, equal, match } from "node:assert/strict";
import { testStores } from "../store/stores_kit_test.ts";
import { ADMIN, startAccounts } from "./accounts_kit_test.ts";

testStores("a personal token works for its account with its scopes, until it is revoked", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  await browser.post("sign-in", ADMIN);
  const { body } = await browser.post("create-token", { name: "CI", scopes: ["views:read"], days: 30 });
  match(body.token, /^pwt_[\w-]{43}$/);
  const whoami = () =>
    server.browse().request("/api/v1/whoami", { headers: { authorization: `Bearer ${body.token}` } });
  const answered = await whoami();
  equal(answered.status, 200);
  deepEqual(answered.body.scopes, ["views:read"]);
  equal(answered.body.user.email, ADMIN.email);
  // The token ends at once, whether remembered or not.
  equal((await browser.post("revoke-token", { id: body.info.id })).status, 200);
  equal((await whoami()).status, 401);
});
