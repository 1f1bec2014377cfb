import { randomUUID } from "node:crypto";
import process from "node:process";
import { HttpError } from "../../../common/http_error.ts";
import { foldName } from "../../../common/platform/mod.ts";

/** A write lock (RFC 4918, section 6). */
export interface Lock {
  readonly token: string;
  readonly segments: readonly string[];
  /** Whether all below a folder is locked too. */
  readonly isDeep: boolean;
  readonly isExclusive: boolean;
  /** What its owner says about itself, as an element or "". */
  readonly owner: string;
  /** How long it was granted for. */
  seconds: number;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** What is to be changed, for which locks are looked at. */
export interface Change {
  readonly segments: readonly string[];
  /** Whether a name comes or goes, so that a lock on the folder around it counts too. */
  readonly isMembership: boolean;
  /** Whether all below it changes with it. */
  readonly isDeep: boolean;
}

/** Locks held at once: a share has a handful of writers, each of which locks what it has open. */
const MAX_LOCKS = 1000;
/** A lock whose owner has gone keeps others out for so long at most; who is there renews it. */
const MAX_SECONDS = 60 * 60;
const DEFAULT_SECONDS = 10 * 60;

/** The locks of a share. They live as long as it runs. */
export class LockTable {
  readonly #now: () => number;
  readonly #platform: string;
  readonly #byToken = new Map<string, Lock>();
  readonly #byPath = new Map<string, Set<Lock>>();

  /** @param platform whose names are one and the same by its custom */
  constructor(now: () => number = Date.now, platform: string = process.platform) {
    this.#now = now;
    this.#platform = platform;
  }

  /** The locks that hold at a path: on it, and deep ones above it. */
  covering(segments: readonly string[]): Lock[] {
    const found: Lock[] = [];
    for (let depth = 0; depth <= segments.length; depth++) {
      for (const lock of this.#at(segments.slice(0, depth))) {
        if (lock.isDeep || depth === segments.length) found.push(lock);
      }
    }
    return found;
  }

  /**
   * Grants a lock.
   * @throws HttpError 423 when another one stands against it, 503 when there are too many
   */
  add(wanted: Pick<Lock, "segments" | "isDeep" | "isExclusive" | "owner">, seconds: number | null): Lock {
    const others = [...this.covering(wanted.segments), ...(wanted.isDeep ? this.#below(wanted.segments) : [])];
    if (others.some(({ isExclusive }) => isExclusive || wanted.isExclusive)) {
      throw new HttpError(423, "locked", "Someone else has locked this.");
    }
    if (this.#byToken.size >= MAX_LOCKS) this.#dropExpired();
    if (this.#byToken.size >= MAX_LOCKS) {
      throw new HttpError(503, "too_many_locks", "Too many locks are held; try again.", {
        headers: { "retry-after": "60" },
      });
    }
    const lock: Lock = { ...wanted, token: `urn:uuid:${randomUUID()}`, seconds: 0, expiresAt: 0 };
    this.#extend(lock, seconds);
    this.#byToken.set(lock.token, lock);
    const key = this.#toKey(lock.segments);
    const there = this.#byPath.get(key);
    if (there === undefined) this.#byPath.set(key, new Set([lock]));
    else there.add(lock);
    return lock;
  }

  /** The lock of that token that holds at a path, renewed; null when there is none. */
  refresh(token: string, segments: readonly string[], seconds: number | null): Lock | null {
    const lock = this.covering(segments).find((held) => held.token === token);
    if (lock !== undefined) this.#extend(lock, seconds);
    return lock ?? null;
  }

  /** Ends the lock of that token that holds at a path. Returns whether there was one. */
  remove(token: string, segments: readonly string[]): boolean {
    const lock = this.covering(segments).find((held) => held.token === token);
    if (lock !== undefined) this.#drop(lock);
    return lock !== undefined;
  }

  /** Ends all locks on what has gone and on all below it. */
  removeBelow(segments: readonly string[]): void {
    for (const lock of [...this.#at(segments), ...this.#below(segments)]) this.#drop(lock);
  }

  /**
   * Refuses a change that a lock stands against whose token was not sent.
   * @throws HttpError 423
   */
  check({ segments, isMembership, isDeep }: Change, tokens: ReadonlySet<string>): void {
    if (this.#byToken.size === 0) return;
    this.#checkScope(this.covering(segments), tokens);
    if (isMembership && segments.length > 0) this.#checkScope(this.#at(segments.slice(0, -1)), tokens);
    if (!isDeep) return;
    const below = Map.groupBy(this.#below(segments), (lock) => this.#toKey(lock.segments));
    for (const locks of below.values()) this.#checkScope(locks, tokens);
  }

  /** Of several shared locks on one thing, the token of one is enough. */
  #checkScope(locks: readonly Lock[], tokens: ReadonlySet<string>): void {
    if (locks.length === 0 || locks.some(({ token }) => tokens.has(token))) return;
    throw new HttpError(423, "locked", "This is locked by someone who has it open.");
  }

  #at(segments: readonly string[]): Lock[] {
    const now = this.#now();
    const held = [...this.#byPath.get(this.#toKey(segments)) ?? []];
    for (const lock of held) if (lock.expiresAt <= now) this.#drop(lock);
    return held.filter(({ expiresAt }) => expiresAt > now);
  }

  #below(segments: readonly string[]): Lock[] {
    this.#dropExpired();
    const key = this.#toKey(segments);
    return [...this.#byToken.values()].filter((lock) =>
      lock.segments.length > segments.length && this.#toKey(lock.segments.slice(0, segments.length)) === key
    );
  }

  #extend(lock: Lock, seconds: number | null): void {
    lock.seconds = Math.min(Math.max(seconds ?? DEFAULT_SECONDS, 1), MAX_SECONDS);
    lock.expiresAt = this.#now() + lock.seconds * 1000;
  }

  #dropExpired(): void {
    const now = this.#now();
    for (const lock of this.#byToken.values()) if (lock.expiresAt <= now) this.#drop(lock);
  }

  #toKey(segments: readonly string[]): string {
    return segments.map((name) => foldName(name, this.#platform)).join("/");
  }

  #drop(lock: Lock): void {
    this.#byToken.delete(lock.token);
    const key = this.#toKey(lock.segments);
    const there = this.#byPath.get(key);
    there?.delete(lock);
    if (there?.size === 0) this.#byPath.delete(key);
  }
}

/** Reads a Timeout field; null when it names no number of seconds. `Infinite` is as long as there is. */
export function parseTimeout(field: string | null): number | null {
  for (const wish of (field ?? "").split(",")) {
    const seconds = /^\s*second-(\d{1,10})\s*$/i.exec(wish)?.[1];
    if (seconds !== undefined) return Number(seconds);
    if (/^\s*infinite\s*$/i.test(wish)) return MAX_SECONDS;
  }
  return null;
}
