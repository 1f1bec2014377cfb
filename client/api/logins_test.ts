import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Login, Logins } from "./logins.ts";
import { makeFolder } from "./_test_server.ts";

const a = new URL("http://a.example"), b = new URL("https://b.example:8443");

const login = (server: URL, loggedInAt = 1): Login => ({
  server: server.origin,
  accessToken: `of ${server.hostname}`.replace(" ", "-"),
  refreshToken: null,
  expiresAt: null,
  loggedInAt,
});

const listFiles = (folder: string) => readdirSync(join(folder, "logins")).map((name) => join(folder, "logins", name));

Deno.test("Logins keeps one login a server, in files for their owner alone", () => {
  using folder = makeFolder();
  const logins = new Logins(folder.path);
  assert.equal(logins.load(a), null);
  for (const one of [login(a), login(b), login(a, 2)]) logins.save(one);
  assert.deepEqual([logins.load(a), logins.load(b)], [login(a, 2), login(b)]);
  assert.equal(listFiles(folder.path).length, 2);
  logins.remove(a);
  assert.deepEqual([logins.load(a), logins.load(b)], [null, login(b)]);
  logins.remove(a);
  if (process.platform === "win32") return;
  assert.equal(statSync(listFiles(folder.path)[0]).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder.path, "logins")).mode & 0o777, 0o700);
});

Deno.test("Logins finds the server that was logged in to last", () => {
  using folder = makeFolder();
  const logins = new Logins(folder.path);
  assert.equal(logins.findLastServer(), null);
  logins.save(login(b, 20));
  logins.save(login(a, 10));
  assert.equal(logins.findLastServer()?.origin, b.origin);
});

Deno.test("Logins tells a damaged file in one line, and a new login mends it", () => {
  using folder = makeFolder();
  const logins = new Logins(folder.path);
  logins.save(login(a));
  const [file] = listFiles(folder.path);
  const whole = readFileSync(file, "utf8");
  const damages = ["", "{", "null", "[]", "{}", whole.replace("of-a", "of\\n"), whole.replace("http://a", "a")];
  for (const text of [...damages, whole.slice(0, 40)]) {
    writeFileSync(file, text);
    const message = `the login in ${file} is damaged: log in again with portway --login`;
    assert.throws(() => logins.load(a), { name: "LoginDamaged", message }, text);
    assert.throws(() => logins.findLastServer(), { name: "LoginDamaged" });
  }
  logins.save(login(b));
  assert.equal(logins.findLastServer()?.origin, b.origin, "another one does");
  logins.save(login(a));
  assert.deepEqual(logins.load(a), login(a));
});

Deno.test("Logins lets one after the other do what must not be done at once, and takes a lock from who is gone", async () => {
  using folder = makeFolder();
  const logins = new Logins(folder.path), others = new Logins(folder.path);
  let inside = 0, most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inside--;
  };
  await Promise.all([logins, others, logins, others].map((one) => one.withLock(a, work)));
  assert.equal(most, 1);
  await assert.rejects(logins.withLock(a, () => Promise.reject(new Error("broke"))), /broke/);
  assert.deepEqual(listFiles(folder.path), []);
  let lock = "";
  await logins.withLock(a, () => Promise.resolve(lock = listFiles(folder.path)[0]));
  writeFileSync(lock, "of a program that was killed");
  utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
  await others.withLock(a, work);
  assert.deepEqual(listFiles(folder.path), []);
});
