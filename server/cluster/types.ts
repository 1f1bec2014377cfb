import type { GoAwayReason, HeadWriter, RequestStream, StreamHandler, StreamOpening } from "../../protocol/mod.ts";

/** Carries visitors to a client: a session of this node, or a link to a session of another node. */
export interface SessionHandle {
  /**
   * Opens a stream, whose kind `opening` names. A raw stream has only the members in `Stream`.
   * @param head the request's head; any bytes, or null for none, on a raw stream
   * @returns the stream, or null if the session has no free slot, or is over
   * @throws RangeError when the head is larger than `MAX_HEAD`
   */
  open(opening: StreamOpening, head: HeadWriter | null, handler: StreamHandler): RequestStream | null;
  /** Whether the session has ended, so that no stream can be opened. */
  readonly over: boolean;
  /** Ends the session on any node and sends its client the reason. */
  end(reason: GoAwayReason, text: string): void;
}

/**
 * Maps public addresses to the sessions that carry them. An address has a key, a text with at most 100 printable
 * characters.
 */
export interface Presence {
  /**
   * Registers a session on this node; {@link find} returns it as soon as this returns. The previous session for the key,
   * on any node, ends as replaced.
   */
  claim(key: string, session: SessionHandle): void;
  /** Removes the registration if `session` still has it. Returns whether it had. */
  release(key: string, session: SessionHandle): boolean;
  /**
   * Returns the registered session or null: directly if this node knows it, as for its own sessions, otherwise as
   * a promise, which never rejects. An unreachable node counts as one without a session.
   */
  find(key: string): SessionHandle | null | Promise<SessionHandle | null>;
  /**
   * Calls `listener` when a session on any node registers for the key.
   * @returns a function that ends the watch; the caller must call it
   */
  watch(key: string, listener: (session: SessionHandle) => void): () => void;
}

/** Notifies subscribers about new rows in the store. Notifications can be lost, so subscribers also poll. */
export interface Arrivals {
  /** Notifies the listeners for `topic`, on every node. */
  announce(topic: string): void;
  /**
   * Calls `listener`, which must not throw, for every announcement from now on.
   * @returns a function that ends the subscription
   */
  listen(topic: string, listener: () => void): () => void;
}
