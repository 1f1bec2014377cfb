import { Buffer } from "node:buffer";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createRateLimiter, type RateLimiter } from "../../../common/rate_limiter.ts";

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
  return new Gate(passphrase, now);
}

class Gate implements PassphraseGate {
  readonly #key = randomBytes(32);
  readonly #expected: Buffer;
  readonly #cookieName = `portway-share-${randomBytes(6).toString("hex")}`;
  readonly #now: () => number;
  readonly #perAddress: RateLimiter;
  readonly #fromEveryone: RateLimiter;
  readonly #meanwhile: RateLimiter;
  readonly #known = new Set<string>();

  constructor(passphrase: string, now: () => number) {
    this.#expected = hash(this.#key, passphrase);
    this.#now = now;
    this.#perAddress = createRateLimiter({ ...PER_ADDRESS, now });
    this.#fromEveryone = createRateLimiter({ ...FROM_EVERYONE, now });
    this.#meanwhile = createRateLimiter({ ...MEANWHILE, now });
  }

  check(headers: Headers, address: string): Pass {
    if (this.#isCookieGood(readCookie(headers.get("cookie"), this.#cookieName))) return { kind: "open" };
    const password = readBasicPassword(headers.get("authorization"));
    return password === null ? { kind: "closed" } : this.tryPassphrase(password, address);
  }

  tryPassphrase(given: string, address: string): Pass {
    const network = toNetwork(address);
    const isScarce = !this.#known.has(network) && this.#fromEveryone.peek("*") > 0;
    const milliseconds = Math.max(
      this.#perAddress.peek(network),
      isScarce ? this.#meanwhile.peek(toSite(network)) : 0,
    );
    // A right answer waits as well: else the wait itself would tell right from wrong.
    if (milliseconds > 0) return { kind: "wait", milliseconds };
    if (isScarce) this.#meanwhile.take(toSite(network));
    if (timingSafeEqual(hash(this.#key, given), this.#expected)) {
      this.#remember(network);
      return { kind: "open" };
    }
    this.#perAddress.take(network);
    this.#fromEveryone.take("*");
    return { kind: "closed" };
  }

  createCookie(isSecure: boolean): string {
    const expires = String(this.#now() + SESSION_SECONDS * 1000);
    const value = `${expires}.${hash(this.#key, `cookie ${expires}`).toString("base64url")}`;
    return serializeCookie(`${this.#cookieName}=${value}`, SESSION_SECONDS, isSecure);
  }

  clearCookie(isSecure: boolean): string {
    return serializeCookie(`${this.#cookieName}=`, 0, isSecure);
  }

  #isCookieGood(value: string | null): boolean {
    const [expires, mark] = value?.split(".") ?? [];
    if (mark === undefined || !/^\d{1,15}$/.test(expires) || Number(expires) < this.#now()) return false;
    return isSame(Buffer.from(mark, "base64url"), hash(this.#key, `cookie ${expires}`));
  }

  #remember(network: string): void {
    if (this.#known.has(network)) return;
    const oldest = this.#known.values().next().value;
    if (this.#known.size >= MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#known.add(network);
  }
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
