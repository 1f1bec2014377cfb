import { GoAwayReason } from "../../protocol/mod.ts";
import type { Presence, SessionHandle } from "./types.ts";

/** Presence for a single server: a map in this process. `find` always returns directly. */
export class LocalPresence implements Presence {
  readonly #sessions = new Map<string, SessionHandle>();
  readonly #watches = new Map<string, Set<(session: SessionHandle) => void>>();

  claim(key: string, session: SessionHandle): void {
    const previous = this.#sessions.get(key);
    this.#sessions.set(key, session);
    previous?.end(GoAwayReason.replaced, "a newer session of its owner carries this tunnel now");
    for (const listener of [...this.#watches.get(key) ?? []]) listener(session);
  }

  release(key: string, session: SessionHandle): boolean {
    return this.#sessions.get(key) === session && this.#sessions.delete(key);
  }

  find(key: string): SessionHandle | null {
    return this.#sessions.get(key) ?? null;
  }

  watch(key: string, listener: (session: SessionHandle) => void): () => void {
    const watches = this.#watches.get(key) ?? new Set();
    this.#watches.set(key, watches.add(listener));
    return () => {
      watches.delete(listener);
      if (watches.size === 0 && this.#watches.get(key) === watches) this.#watches.delete(key);
    };
  }
}
