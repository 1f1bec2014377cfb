import { Buffer } from "node:buffer";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createRateLimiter } from "../../../common/rate_limiter.ts";

/** Whether a visitor may pass: yes, no, or not before some time. */
export type Pass = { kind: "open" } | { kind: "closed" } | { kind: "wait"; milliseconds: number };

/** Asks for the one passphrase of a share. */
export interface PassphraseGate {
  /** Judges a request by its cookie or its Basic password. A wrong password counts as a try. */
  check(headers: Headers, address: string): Pass;
  /** Judges a passphrase that was typed in. */
  tryPassphrase(passphrase: string, address: string): Pass;
  /** The Set-Cookie field that remembers who has answered. */
  createCookie(isSecure: boolean): string;
  /** The Set-Cookie field that forgets. */
  clearCookie(isSecure: boolean): string;
}

/** How long a cookie is good for. */
const SESSION_SECONDS = 12 * 60 * 60;
/** Wrong tries at once, then a minute, from one address and from everyone: a passphrase of a few words holds. */
const PER_ADDRESS = { burst: 5, perMinute: 6 };
const FROM_EVERYONE = { burst: 60, perMinute: 60 };
/** What a network has for itself once everyone's are used up: slow honest people get in, and many guesses do not. */
const MEANWHILE = { burst: 1, perMinute: 1 };
/** Networks from which the right answer has come that are remembered: these have their own limit alone. */
const MAX_KNOWN = 10_000;

/** Of a clock that nobody sets back: it fits one run, as the cookies do. */
const sinceStart = () => Math.floor(performance.now());

/** A gate for `passphrase`. Cookie name and key are random, so they fit this run of this share and no other. */
export function createGate(passphrase: string, now: () => number = sinceStart): PassphraseGate {
  const key = randomBytes(32);
  const expected = hash(key, passphrase);
  const cookieName = `portway-share-${randomBytes(6).toString("hex")}`;
  const perAddress = createRateLimiter({ ...PER_ADDRESS, now });
  const fromEveryone = createRateLimiter({ ...FROM_EVERYONE, now });
  const meanwhile = createRateLimiter({ ...MEANWHILE, now });
  const known = new Set<string>();

  function tryPassphrase(given: string, address: string): Pass {
    const network = toNetwork(address);
    const isScarce = !known.has(network) && fromEveryone.peek("*") > 0;
    const milliseconds = Math.max(perAddress.peek(network), isScarce ? meanwhile.peek(toSite(network)) : 0);
    // A right answer waits as well: else the wait itself would tell right from wrong.
    if (milliseconds > 0) return { kind: "wait", milliseconds };
    if (isScarce) meanwhile.take(toSite(network));
    if (timingSafeEqual(hash(key, given), expected)) {
      remember(network);
      return { kind: "open" };
    }
    perAddress.take(network);
    fromEveryone.take("*");
    return { kind: "closed" };
  }

  function remember(network: string): void {
    if (known.has(network)) return;
    const oldest = known.values().next().value;
    if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    known.add(network);
  }

  function check(headers: Headers, address: string): Pass {
    if (isCookieGood(readCookie(headers.get("cookie"), cookieName))) return { kind: "open" };
    const password = readBasicPassword(headers.get("authorization"));
    return password === null ? { kind: "closed" } : tryPassphrase(password, address);
  }

  function isCookieGood(value: string | null): boolean {
    const [expires, mark] = value?.split(".") ?? [];
    if (mark === undefined || !/^\d{1,15}$/.test(expires) || Number(expires) < now()) return false;
    return isSame(Buffer.from(mark, "base64url"), hash(key, `cookie ${expires}`));
  }

  function createCookie(isSecure: boolean): string {
    const expires = String(now() + SESSION_SECONDS * 1000);
    const value = `${expires}.${hash(key, `cookie ${expires}`).toString("base64url")}`;
    return serializeCookie(`${cookieName}=${value}`, SESSION_SECONDS, isSecure);
  }

  return { check, tryPassphrase, createCookie, clearCookie: (secure) => serializeCookie(`${cookieName}=`, 0, secure) };
}

function hash(key: Uint8Array, text: string): Buffer {
  // What looks the same is the same, whichever way a keyboard puts an accent on its letter.
  return createHmac("sha256", key).update(text.normalize("NFC")).digest();
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function serializeCookie(pair: string, maxAge: number, isSecure: boolean): string {
  return `${pair}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

function readCookie(field: string | null, name: string): string | null {
  const pairs = (field ?? "").split(/;\s*/);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** The password of Basic credentials; the user name may be anything. */
function readBasicPassword(field: string | null): string | null {
  const encoded = /^basic +([A-Za-z0-9+/=]+)$/i.exec(field ?? "")?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? null : pair.slice(colon + 1);
}

/** An IPv6 visitor usually owns a /64 and could come from a new address each time. */
function toNetwork(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const [head, tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  if (tail !== undefined) { while (groups.length < 4) groups.push("0"); }
  return groups.slice(0, 4).join(":");
}

/** The /48 around an IPv6 network: who has one has 65,536 networks. */
function toSite(network: string): string {
  return network.includes(":") ? network.split(":").slice(0, 3).join(":") : network;
}
