import { GoAwayReason } from "../../protocol/mod.ts";
import type { Presence, SessionHandle } from "./types.ts";

/** Presence for a single server: a map in this process. `find` always returns directly. */
export class LocalPresence implements Presence {
  readonly #carriers = new Map<string, SessionHandle>();
  readonly #watches = new Map<string, Set<(carrier: SessionHandle) => void>>();

  claim(key: string, carrier: SessionHandle): void {
    const previous = this.#carriers.get(key);
    this.#carriers.set(key, carrier);
    previous?.end(GoAwayReason.replaced, "a newer session of its owner carries this tunnel now");
    for (const listener of [...this.#watches.get(key) ?? []]) listener(carrier);
  }

  release(key: string, carrier: SessionHandle): boolean {
    return this.#carriers.get(key) === carrier && this.#carriers.delete(key);
  }

  find(key: string): SessionHandle | null {
    return this.#carriers.get(key) ?? null;
  }

  watch(key: string, listener: (carrier: SessionHandle) => void): () => void {
    const watches = this.#watches.get(key) ?? new Set();
    this.#watches.set(key, watches.add(listener));
    return () => {
      watches.delete(listener);
      if (watches.size === 0 && this.#watches.get(key) === watches) this.#watches.delete(key);
    };
  }
}
