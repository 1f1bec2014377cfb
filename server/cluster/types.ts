/** Who is where: which session carries a tunnel. `S` is whatever this node reaches a session by. */
export interface Presence<S> {
  /** Puts `session` in charge of a tunnel, and returns the one it takes over from. */
  claim(tunnelId: string, session: S): S | null;
  /** Ends that charge if `session` still has it, and says whether it had. */
  release(tunnelId: string, session: S): boolean;
  /** The session in charge, or null. */
  find(tunnelId: string): S | null;
  /** Every session in charge. */
  sessions(): Iterable<S>;
}

/**
 * Tells who waits that something new can be read from the store. A word may get lost between servers, and says nothing of
 * what is new: who waits looks for itself, and now and then without being told.
 */
export interface Arrivals {
  announce(topic: string): void;
  /**
   * Calls `listener`, which must not throw, for every announcement from now on.
   * @returns what ends that
   */
  listen(topic: string, listener: () => void): () => void;
}
