import { GoAwayReason } from "../../../../protocol/mod.ts";
import { tunnelExhausted } from "../../errors.ts";
import type { Check, Closure, Endpoint } from "../endpoint.ts";

/** Bytes that were carried, their limit, and the part that is not stored yet. */
export class Traffic {
  /** The most bytes it may carry. `Infinity` for no limit. */
  readonly limit: number;
  /** Counts the same bytes too, for instance an allowance that several tunnels share. */
  parent: Traffic | null = null;
  /** Called with each addition at or above the limit. */
  onExhausted: (() => void) | null = null;
  #used: number;
  #unsaved = 0;

  /** @param used bytes that the store counted before */
  constructor(limit: number, used: number) {
    this.limit = limit;
    this.#used = used;
  }

  /** Carried bytes, stored or not. */
  get used(): number {
    return this.#used;
  }

  /** Bytes that are not stored yet. */
  get unsaved(): number {
    return this.#unsaved;
  }

  /** Whether the limit is reached. */
  get isExhausted(): boolean {
    return this.#used >= this.limit;
  }

  /** Counts bytes that were carried, in either direction. */
  add(bytes: number): void {
    this.#used += bytes;
    this.#unsaved += bytes;
    this.parent?.add(bytes);
    if (this.#used >= this.limit) this.onExhausted?.();
  }

  /** Returns the bytes that are not stored yet and counts them as stored. */
  takeUnsaved(): number {
    const taken = this.#unsaved;
    this.#unsaved = 0;
    return taken;
  }

  /** Takes back bytes of {@link takeUnsaved} that could not be stored. */
  returnUnsaved(bytes: number): void {
    this.#unsaved += bytes;
  }

  /** Replaces the count by the store's total, which includes other nodes, and adds the bytes that are not stored yet. */
  learn(stored: number): void {
    this.#used = stored + this.#unsaved;
  }
}

/** Closes an ephemeral tunnel that has carried its limit. */
export function trafficGate({ tunnel: { traffic } }: Endpoint): Check | null {
  return traffic.limit === Infinity ? null : { close: () => traffic.isExhausted ? EXHAUSTED : null };
}

const EXHAUSTED: Closure = {
  refuse: tunnelExhausted,
  end: { reason: GoAwayReason.exhausted, text: "the tunnel has used up its traffic" },
};
