import type { Arrivals } from "./types.ts";

/** Arrivals for a single server: a map in this process. */
export function createLocalArrivals(): Arrivals {
  const listeners = new Map<string, Set<() => void>>();
  return {
    announce(topic) {
      for (const listener of listeners.get(topic) ?? []) listener();
    },
    listen(topic, listener) {
      const all = listeners.get(topic) ?? new Set();
      listeners.set(topic, all.add(listener));
      return () => {
        all.delete(listener);
        if (all.size === 0 && listeners.get(topic) === all) listeners.delete(topic);
      };
    },
  };
}
