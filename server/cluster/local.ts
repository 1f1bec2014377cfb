import type { Presence } from "./types.ts";

/** Presence of a server that stands alone: a map in this process. */
export function createLocalPresence<S>(): Presence<S> {
  const sessions = new Map<string, S>();
  return {
    claim(tunnelId, session) {
      const previous = sessions.get(tunnelId) ?? null;
      sessions.set(tunnelId, session);
      return previous;
    },
    release: (tunnelId, session) => sessions.get(tunnelId) === session && sessions.delete(tunnelId),
    find: (tunnelId) => sessions.get(tunnelId) ?? null,
    sessions: () => sessions.values(),
  };
}
