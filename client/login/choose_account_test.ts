import assert from "node:assert/strict";
import { chooseAccount } from "./choose_account.ts";

const accounts = ["Acme", "acme labs", "Home", "2", "Acme Ltd"].map((name, at) => ({
  id: `id${at}`,
  name,
  plan: "free",
  role: "owner",
}));

Deno.test("chooseAccount takes a name, an id, a number of the list or the beginning of one name", () => {
  const cases = [
    ["Acme", "Acme"],
    ["ACME", "Acme"],
    [" Home ", "Home"],
    ["id2", "Home"],
    ["3", "Home"],
    ["2", "2"],
    ["5", "Acme Ltd"],
    ["ho", "Home"],
    ["acme la", "acme labs"],
  ];
  for (const [given, name] of cases) assert.equal(chooseAccount(accounts, given).name, name, given);
});

Deno.test("chooseAccount says which there are when none or several go by what was given", () => {
  assert.throws(() => chooseAccount(accounts, "acme l"), {
    name: "NoSuchAccount",
    message: '"acme l" matches more than one account: 2 acme labs, 5 Acme Ltd',
  });
  for (const given of ["x", "", "0", "6"]) {
    assert.throws(() => chooseAccount(accounts, given), {
      message: `no account matches "${given}": 1 Acme, 2 acme labs, 3 Home, 4 2, 5 Acme Ltd`,
    });
  }
});
