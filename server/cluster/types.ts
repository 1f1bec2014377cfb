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
