import { equal, match, notEqual } from "node:assert/strict";
import { createGate } from "./gate.ts";

const PASSPHRASE = "correct horse";
const withCookie = (setCookie: string) => new Headers({ cookie: `other=1; ${setCookie.split(";")[0]}` });
const withPassword = (text: string) => new Headers({ authorization: `Basic ${btoa(`anyone:${text}`)}` });

Deno.test("gate opens for the passphrase, as Basic password and as cookie", () => {
  const gate = createGate(PASSPHRASE);
  equal(gate.check(new Headers(), "a").kind, "closed");
  equal(gate.tryPassphrase(PASSPHRASE, "a").kind, "open");
  equal(gate.check(withPassword(PASSPHRASE), "a").kind, "open");
  equal(gate.check(withPassword("wrong"), "a").kind, "closed");
  equal(gate.check(new Headers({ authorization: "Basic !!!" }), "a").kind, "closed");
  equal(gate.check(withCookie(gate.createCookie(false)), "b").kind, "open");
});

Deno.test("gate takes no cookie of another share, none that was changed and none that is too old", () => {
  let now = 1_000_000;
  const gate = createGate(PASSPHRASE, () => now);
  const cookie = gate.createCookie(true);
  match(cookie, /^portway-share-[0-9a-f]{12}=\d+\.[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/);
  equal(createGate(PASSPHRASE, () => now).check(withCookie(cookie), "a").kind, "closed");
  equal(gate.check(withCookie(cookie.replace(/=(\d)/, "=9$1")), "a").kind, "closed");
  equal(gate.check(withCookie(cookie.replace(/\.[\w-]+;/, ".;")), "a").kind, "closed");
  now += 43_200_001;
  equal(gate.check(withCookie(cookie), "a").kind, "closed");
});

Deno.test("gate slows wrong tries from one address down, and lets the right one wait as well", () => {
  let now = 0;
  const gate = createGate(PASSPHRASE, () => now);
  for (let tries = 0; tries < 5; tries++) equal(gate.tryPassphrase("wrong", "a").kind, "closed");
  equal(gate.tryPassphrase("wrong", "a").kind, "wait");
  equal(gate.tryPassphrase(PASSPHRASE, "a").kind, "wait");
  equal(gate.tryPassphrase(PASSPHRASE, "b").kind, "open");
  now += 10_000;
  equal(gate.tryPassphrase(PASSPHRASE, "a").kind, "open");
});

Deno.test("gate slows tries from many addresses down, and counts a /64 of IPv6 as one", () => {
  const gate = createGate(PASSPHRASE, () => 0);
  for (let tries = 0; tries < 5; tries++) gate.tryPassphrase("wrong", `2001:db8:1:2::${tries}`);
  equal(gate.tryPassphrase("wrong", "2001:db8:1:2:ffff::1").kind, "wait");
  for (let tries = 0; tries < 55; tries++) equal(gate.tryPassphrase("wrong", `10.0.0.${tries}`).kind, "closed");
  // From then on each has one try a minute, and not five.
  equal(gate.tryPassphrase("wrong", "10.0.1.1").kind, "closed");
  equal(gate.tryPassphrase("wrong", "10.0.1.1").kind, "wait");
  equal(gate.tryPassphrase("wrong", "2001:db8:7:1::1").kind, "closed");
  equal(gate.tryPassphrase("wrong", "2001:db8:7:2::1").kind, "wait");
});

/** Uses up what everyone together may try. */
function flood(gate: ReturnType<typeof createGate>): void {
  for (let address = 0; address < 20; address++) {
    for (let tries = 0; tries < 5; tries++) gate.tryPassphrase("wrong", `198.51.100.${address}`);
  }
}

Deno.test("gate lets a slow honest try through while others try without end, and tells a wrong one nothing by it", () => {
  let now = 0;
  const gate = createGate(PASSPHRASE, () => now);
  flood(gate);
  equal(gate.tryPassphrase(PASSPHRASE, "203.0.113.1").kind, "open");
  // One who mistypes has to wait a minute, right or wrong, and is let in then.
  equal(gate.tryPassphrase("wrong", "203.0.113.2").kind, "closed");
  for (const passphrase of [PASSPHRASE, "wrong"]) {
    const pass = gate.tryPassphrase(passphrase, "203.0.113.2");
    equal(pass.kind === "wait" ? pass.milliseconds : pass.kind, 60_000);
  }
  now += 60_000;
  flood(gate);
  equal(gate.tryPassphrase(PASSPHRASE, "203.0.113.2").kind, "open");
});

Deno.test("gate goes on to let those in who show the passphrase with each request, however others try", () => {
  const gate = createGate(PASSPHRASE, () => 0);
  equal(gate.check(withPassword(PASSPHRASE), "203.0.113.1").kind, "open");
  flood(gate);
  for (let requests = 0; requests < 100; requests++) {
    equal(gate.check(withPassword(PASSPHRASE), "203.0.113.1").kind, "open");
  }
  // Being known makes nobody's guesses faster.
  for (let tries = 0; tries < 5; tries++) equal(gate.tryPassphrase("wrong", "203.0.113.1").kind, "closed");
  equal(gate.tryPassphrase("wrong", "203.0.113.1").kind, "wait");
});

Deno.test("gate keeps visitors in who have answered while others are slowed down", () => {
  const gate = createGate(PASSPHRASE, () => 0);
  const cookie = gate.createCookie(false);
  for (let tries = 0; tries < 100; tries++) gate.tryPassphrase("wrong", `10.0.0.${tries}`);
  equal(gate.check(withCookie(cookie), "10.0.0.1").kind, "open");
  notEqual(gate.clearCookie(false).indexOf("Max-Age=0"), -1);
});

Deno.test("gate takes an accented passphrase in either form of Unicode", () => {
  const passphrase = "pa\u0308sswo\u0308rd";
  for (const known of [passphrase, passphrase.normalize("NFC")]) {
    for (const given of [passphrase, passphrase.normalize("NFC")]) {
      equal(createGate(known).tryPassphrase(given, "192.0.2.1").kind, "open");
    }
  }
  equal(createGate(passphrase).tryPassphrase("password", "192.0.2.1").kind, "closed");
});
