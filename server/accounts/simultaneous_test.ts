/** Rules that count rows hold when many clients change the rows simultaneously. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Store } from "../store/mod.ts";
import { testStores } from "../store/stores_kit_test.ts";
import { ADMIN, recordingLogger, startAccounts } from "./accounts_kit_test.ts";

const ROUNDS = 15;

async function addUser({ identities }: Store, name: string, isAdmin = false): Promise<string> {
  const user = { name, email: `${name}@example.com`, passwordHash: "none", isAdmin, plan: "free" };
  const added = await identities.addUser(user, "always");
  ok(typeof added === "object");
  return added.id;
}

/** Creates an account with two owners. @returns its id and its members' ids */
async function addPair(store: Store, round: number) {
  const { identities } = store, now = Date.now();
  const users = [await addUser(store, `a${round}`), await addUser(store, `b${round}`)];
  const [{ accountId }] = await identities.findMemberships(users[0]);
  const email = `b${round}@example.com`;
  const made = await identities.addInvitation({
    accountId,
    email,
    role: "owner",
    inviterId: users[0],
    now,
    expiresAt: now + 60_000,
  });
  ok(typeof made === "object");
  ok(typeof await identities.acceptInvitation(made.id, { id: users[1], email }, now) === "object");
  const members = await identities.listMembers(accountId);
  return { accountId, members: members.map(({ id, userId }) => ({ id, userId })) };
}

testStores("two owners who leave or demote themselves simultaneously leave one owner", async (store) => {
  const { identities } = store;
  for (let round = 0; round < ROUNDS; round++) {
    const { accountId, members } = await addPair(store, round);
    const results = await Promise.all(
      members.map(({ id, userId }, at) =>
        (round + at) % 2 === 0
          ? identities.removeMember(accountId, userId, id)
          : identities.setRole(accountId, userId, id, "member")
      ),
    );
    deepEqual(results.sort(), ["done", "last_owner"]);
    const owners = (await identities.listMembers(accountId)).filter(({ role }) => role === "owner");
    equal(owners.length, 1);
  }
});

testStores("two owners who remove each other simultaneously leave one owner", async (store) => {
  for (let round = 0; round < ROUNDS; round++) {
    const { accountId, members: [one, other] } = await addPair(store, round);
    const results = await Promise.all([
      store.identities.removeMember(accountId, one.userId, other.id),
      store.identities.removeMember(accountId, other.userId, one.id),
    ]);
    // The second owner is not a member any more.
    deepEqual(results.sort(), ["done", "not_allowed"]);
    equal((await store.identities.listMembers(accountId)).length, 1);
  }
});

testStores("admins who demote or suspend each other simultaneously leave one admin", async (store) => {
  for (let round = 0; round < ROUNDS; round++) {
    const ids = [await addUser(store, `a${round}`, true), await addUser(store, `b${round}`, true)];
    const results = await Promise.all(
      ids.map((id, at) =>
        store.identities.changeUser(id, ids[1 - at], at === 0 ? { isAdmin: false } : { isSuspended: true })
      ),
    );
    deepEqual(results.sort(), ["done", "not_allowed"]);
    const { users } = await store.identities.listUsers({ search: "", offset: 0, limit: 100 });
    const [last] = users.filter(({ isAdmin, isSuspended }) => isAdmin && !isSuspended);
    equal(await store.identities.changeUser(last.id, last.id, { isAdmin: false }), "last_admin");
    await store.db.deleteFrom("user").execute();
  }
});

testStores(
  "limits of tokens, tunnels, views, accounts and invitations hold for simultaneous requests",
  async (store) => {
    const userId = await addUser(store, "ann"), [{ accountId }] = await store.identities.findMemberships(userId);
    const now = Date.now();
    const addToken = (id: string) =>
      store.personalTokens.insert({
        id,
        tokenHash: id,
        userId,
        accountId,
        name: id,
        scopes: [],
        createdAt: now,
        expiresAt: null,
        usedAt: null,
      }, 5);
    const addTunnel = (id: string) =>
      store.persistentTunnels.insert({
        id,
        accountId,
        userId,
        name: id,
        label: id,
        defaultPort: 1,
        allowedPorts: "all",
        enabled: true,
        suspended: false,
        createdAt: now,
      }, 5);
    const answer = {
      ...{ status: 200, headers: [], body: "", delayMs: 0, cors: false },
      ...{ template: false, challenge: null, challengeSecret: null },
    };
    const addView = (id: string) =>
      store.views.insert({ id, accountId, createdAt: now, answer, retentionDays: 1, maxCaptures: 1, name: null }, 5);
    const addAccount = async (name: string) =>
      ok(await store.identities.addAccount({ userId, accountName: name, plan: "free" }, 6) !== null);
    for (const add of [addToken, addTunnel, addView, addAccount]) {
      const results = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => add(`id-${at}`)));
      equal(results.filter(({ status }) => status === "fulfilled").length, 5, add.name);
    }
    const invitation = { accountId, role: "member", inviterId: userId, now, expiresAt: now + 60_000 };
    const invited = await Promise.all(
      Array.from(
        { length: 120 },
        (_, at) => store.identities.addInvitation({ ...invitation, email: `guest-${at}@example.com` }),
      ),
    );
    equal(
      invited.filter((result) => typeof result === "object").length,
      100,
    );
    equal(invited.filter((result) => result === "too_many_invitations").length, 20);
  },
);

testStores("an invitation that is accepted several times simultaneously makes one member", async (store) => {
  const { identities } = store, now = Date.now();
  const owner = await addUser(store, "ann"), [{ accountId }] = await identities.findMemberships(owner);
  for (let round = 0; round < ROUNDS; round++) {
    const email = `g${round}@example.com`, id = await addUser(store, `g${round}`);
    const invitation = { accountId, email, role: "member", inviterId: owner, now, expiresAt: now + 60_000 };
    const invited = await Promise.all([identities.addInvitation(invitation), identities.addInvitation(invitation)]);
    const [first, second] = invited.map((made) => typeof made === "object" ? made.id : made);
    equal(first, second);
    const results = await Promise.all(
      Array.from({ length: 4 }, () => identities.acceptInvitation(first, { id, email }, now)),
    );
    equal(results.filter((result) => typeof result === "object").length, 1);
    const members = (await identities.listMembers(accountId)).filter(({ userId }) => userId === id);
    equal(members.length, 1);
  }
});

testStores("simultaneous uses of the set-up link make one admin", async (store) => {
  const { log, lines } = recordingLogger();
  await using server = await startAccounts(store, { admin: null, log });
  const link = String(lines.find(({ event }) => event === "set_up")?.fields.link);
  const token = new URL(link).searchParams.get("token");
  ok(!JSON.stringify(await store.db.selectFrom("settings").selectAll().execute()).includes(token ?? ""));
  const password = "12345678";
  const results = await Promise.all(
    ["a", "b", "c", "d"].map((name) =>
      server.browse().post("set-up", { name, email: `${name}@example.com`, password, token })
    ),
  );
  const codes = results.map(({ status, body }) => status === 200 ? "200" : body.error.code);
  deepEqual(codes.sort(), ["200", "set_up_link_invalid", "set_up_link_invalid", "set_up_link_invalid"]);
  equal((await store.identities.listUsers({ search: "", offset: 0, limit: 10 })).total, 1);
});

testStores("simultaneous sign-ups with one address make one user, and the others get 409", async (store) => {
  await using server = await startAccounts(store);
  const person = { name: "Anna", email: "anna@example.com", password: "12345678" };
  const results = await Promise.all(Array.from({ length: 4 }, () => server.browse().post("sign-up", person)));
  deepEqual(results.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  ok(results.every(({ status, body }) => status === 200 || body.error.code === "email_taken"));
  equal((await store.identities.listUsers({ search: "anna", offset: 0, limit: 10 })).total, 1);
});

testStores("an address without a dot in its domain signs up, signs in and is invited", async (store) => {
  await using server = await startAccounts(store, { admin: { ...ADMIN, email: "admin@localhost" } });
  const admin = server.browse();
  equal((await admin.post("sign-in", { ...ADMIN, email: "admin@localhost" })).status, 200);
  for (const email of ["ann@nas", "a@b.c"]) {
    equal((await admin.post("invite", { email, role: "member" })).status, 200);
    equal((await server.browse().post("sign-in", { email, password: "12345678" })).status, 401);
    equal((await server.browse().post("sign-up", { name: "Ann", email, password: "12345678" })).status, 200);
    equal((await server.browse().post("sign-in", { email, password: "12345678" })).status, 200);
  }
});
