import { deepEqual, equal } from "node:assert/strict";
import { testStores } from "../store/stores_kit_test.ts";
import { ADMIN, startAccounts } from "./accounts_kit_test.ts";

testStores("what has expired is removed, and what has not stays", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  await browser.post("sign-in", ADMIN);
  const asked = await browser.request("/api/auth/device/code", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "client_id=portway-cli&scope=openid",
  });
  equal(asked.status, 200);
  const count = async () => [
    (await store.db.selectFrom("session").select("id").execute()).length,
    (await store.db.selectFrom("deviceCode").select("id").execute()).length,
  ];
  await store.identities.removeExpired(Date.now());
  deepEqual(await count(), [1, 1]);
  await store.identities.removeExpired(Date.now() + 3600_000);
  deepEqual(await count(), [1, 0]);
  await store.identities.removeExpired(Date.now() + 31 * 24 * 3600_000);
  deepEqual(await count(), [0, 0]);
});
