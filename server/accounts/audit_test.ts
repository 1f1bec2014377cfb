import { deepEqual, equal, rejects } from "node:assert/strict";
import type { Principal } from "../access/mod.ts";
import { testStores } from "../store/stores_kit_test.ts";
import { Audit } from "./audit.ts";

const who = (id: string): Principal => ({
  user: { id, name: id, email: `${id}@example.com`, isAdmin: false },
  account: { id: "account", name: "account", plan: "free", role: "member" },
  scopes: new Set(),
  via: "token",
});

testStores("what a member does often is in the log of the account once an hour", async ({ auditLog }) => {
  const audit = new Audit(auditLog, () => 1);
  await audit.note(who("ann"), "capture_replayed", "a.example, from Orders");
  await audit.note(who("ann"), "capture_replayed", "a.example, from Orders");
  await audit.note(who("ann"), "capture_not_replayed", "a.example, from Orders");
  await audit.note(who("ann"), "capture_replayed", "b.example, from Orders");
  await audit.note(who("bob"), "capture_replayed", "a.example, from Orders");
  const entries = await auditLog.list({ accountId: "account", limit: 10 });
  deepEqual(entries.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`).sort(), [
    "ann@example.com capture_not_replayed a.example, from Orders",
    "ann@example.com capture_replayed a.example, from Orders",
    "ann@example.com capture_replayed b.example, from Orders",
    "bob@example.com capture_replayed a.example, from Orders",
  ]);
});

Deno.test("what could not be written down is written down when a member does it again", async () => {
  const written: string[] = [];
  let isFailing = true;
  const audit = new Audit({
    add({ action }) {
      if (isFailing) return Promise.reject(new Error("the disk is full"));
      return Promise.resolve(void written.push(action));
    },
    list: () => Promise.resolve([]),
    trim: () => Promise.resolve(),
  }, () => 1);
  const note = () => audit.note(who("ann"), "capture_replayed", "a.example, from Orders");
  await rejects(note(), { message: "the disk is full" });
  isFailing = false;
  await note();
  await note();
  deepEqual(written, ["capture_replayed"]);
});

testStores("what members do often never takes the place of what changed who may do what", async ({ auditLog }) => {
  const add = (at: number, action: string) =>
    auditLog.add({ id: `${at}`, at, accountId: null, actorId: null, actor: "", action, subject: "" });
  await add(1, "member_added");
  for (let at = 2; at < 8; at++) await add(at, at % 2 === 0 ? "capture_replayed" : "capture_not_replayed");
  await add(8, "member_removed");
  const list = async () => (await auditLog.list({ limit: 10 })).map(({ id }) => id).join(" ");
  await auditLog.trim({ before: 0, keep: 6, actions: ["capture_replayed", "capture_not_replayed"] });
  equal(await list(), "8 7 6 5 4 3 2 1");
  await auditLog.trim({ before: 0, keep: 2, actions: ["capture_replayed", "capture_not_replayed"] });
  equal(await list(), "8 7 6 1");
  await auditLog.trim({ before: 7, keep: 10, actions: ["capture_not_replayed"] });
  equal(await list(), "8 7 6 1");
  await auditLog.trim({ before: 0, keep: 2 });
  equal(await list(), "8 7");
});
