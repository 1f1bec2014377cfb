import type { HttpError } from "../../common/http_error.ts";
import type { Presence } from "../cluster/mod.ts";
import type { EphemeralTunnel } from "../store/mod.ts";
import { GoAwayReason } from "../../protocol/mod.ts";
import { tunnelExhausted, tunnelExpired } from "./errors.ts";
import type { Session } from "./session.ts";

/**
 * A tunnel in memory: its record, the session that carries it, and every gate a visitor passes. All transports ask
 * {@link gate} first and report what they carry to {@link meter}.
 */
export class Tunnel {
  readonly record: EphemeralTunnel;
  /** Bytes carried, including those not yet in the store. */
  used: number;
  /** When the last session ended, or this server started if none has been seen yet, in Unix milliseconds. */
  droppedAt: number;
  #saved: number;
  readonly #waiting = new Set<(session: Session | null) => void>();
  readonly #now: () => number;

  /** When it was last connected or asked for, in Unix milliseconds. */
  seenAt = 0;
  readonly #presence: Presence<Session>;

  constructor(record: EphemeralTunnel, presence: Presence<Session>, startedAt: number, now: () => number) {
    this.record = record;
    // Clients of a server that restarted are on their way back.
    this.droppedAt = startedAt;
    this.#presence = presence;
    this.used = this.#saved = record.bytesUsed;
    this.#now = now;
  }

  get session(): Session | null {
    return this.#presence.find(this.record.id);
  }

  /** Why no visitor may pass, or null. */
  gate(): HttpError | null {
    if (this.used >= this.record.bytesLimit) return tunnelExhausted();
    return this.#now() >= this.record.expiresAt ? tunnelExpired() : null;
  }

  /** Counts bytes in either direction, and ends the session the moment the limit is reached. */
  meter(bytes: number): void {
    this.used += bytes;
    if (this.used >= this.record.bytesLimit) this.endIfOver();
  }

  /** Ends the session of a tunnel whose time or traffic is over. */
  endIfOver(): void {
    if (this.used >= this.record.bytesLimit) this.session?.end(GoAwayReason.exhausted, "the traffic is used up");
    else if (this.#now() >= this.record.expiresAt) this.session?.end(GoAwayReason.expired, "the tunnel has expired");
  }

  /** Whether the store knows all traffic. */
  get isSaved(): boolean {
    return this.used === this.#saved;
  }

  /** Traffic since the last call, to be added in the store. */
  takeUnsaved(): number {
    const unsaved = this.used - this.#saved;
    this.#saved = this.used;
    return unsaved;
  }

  /** Gives back what {@link takeUnsaved} took when it could not be stored. */
  giveBackUnsaved(bytes: number): void {
    this.#saved -= bytes;
  }

  /** Puts `session` in charge; the one it takes over from is told so. */
  attach(session: Session): void {
    const previous = this.#presence.claim(this.record.id, session);
    previous?.end(GoAwayReason.replaced, "a newer session of its owner carries this tunnel now");
    for (const resolve of this.#waiting) resolve(session);
    this.#waiting.clear();
  }

  detach(session: Session): void {
    if (this.#presence.release(this.record.id, session)) this.droppedAt = this.#now();
  }

  /**
   * The session as soon as there is one. Null when none came within `holdMs` after the last dropped off, or at once
   * when that was longer ago or {@link MAX_HELD} visitors wait already.
   */
  whenSession(holdMs: number): Promise<Session | null> {
    const left = this.droppedAt + holdMs - this.#now();
    const { session } = this;
    if (session !== null || left <= 0 || this.#waiting.size >= MAX_HELD) return Promise.resolve(session);
    return new Promise((resolve) => {
      const settle = (session: Session | null) => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(session);
      };
      const timer = setTimeout(settle, left, null);
      this.#waiting.add(settle);
    });
  }
}

const MAX_HELD = 256;
