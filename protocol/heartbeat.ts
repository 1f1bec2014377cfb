import { HEARTBEAT_MS, SILENCE_MS } from "./limits.ts";

/** Measures a session's round trip and silence. It reads no clock: each method takes the time in milliseconds. */
export class Heartbeat {
  /** Time of the peer's last message. */
  heardAt: number;
  /** The measured round trip; Infinity until the first PONG. Shorter ones count more, because queues lengthen the rest. */
  roundTripMs = Infinity;
  /** The shortest round trip so far. */
  shortestMs = Infinity;
  #pingedAt = -Infinity;

  constructor(now: number) {
    this.heardAt = now;
  }

  /** A PING was sent. */
  ping(now: number): void {
    this.#pingedAt = now;
  }

  /** A PONG arrived with the last message. Returns whether it was the first; undefined if no PING was sent. */
  pong(): boolean | undefined {
    const tookMs = this.heardAt - this.#pingedAt, isFirst = this.shortestMs === Infinity;
    if (tookMs === Infinity) return undefined;
    this.shortestMs = Math.min(this.shortestMs, tookMs);
    const known = this.roundTripMs;
    this.roundTripMs = tookMs < known ? tookMs : known + Math.min(tookMs - known, known) / 16;
    return isFirst;
  }

  /** Whether the last measurement is old enough for another one. */
  mayMeasure(now: number): boolean {
    return now - this.#pingedAt >= REMEASURE_MS;
  }

  /** Returns the event that the silence has caused, or null. */
  check(now: number): "quiet" | "silent" | null {
    const silence = now - this.heardAt;
    if (silence >= SILENCE_MS) return "silent";
    return silence >= HEARTBEAT_MS && now - this.#pingedAt >= HEARTBEAT_MS ? "quiet" : null;
  }
}

/** Shortest time between two measurements. */
const REMEASURE_MS = 1000;
