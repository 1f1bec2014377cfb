import type { GoAwayReason, HeadWriter, RequestStream, StreamHandler, StreamOpening } from "../../protocol/mod.ts";

/** What carries visitors: a session of this node, or the way to one of another. Whoever holds it need not know which. */
export interface SessionHandle {
  /**
   * Opens a stream of the kind that `opening` names. On a raw stream only the members of `Stream` have a meaning.
   * @param head the request's head; any bytes, or null for none, on a raw stream
   * @returns the stream, or null if the session has no slot of that kind, or is over
   * @throws RangeError when the head is larger than `MAX_HEAD`
   */
  open(opening: StreamOpening, head: HeadWriter | null, handler: StreamHandler): RequestStream | null;
  /** Whether it has ended: nothing can be opened any more. */
  readonly over: boolean;
  /** Ends the session, wherever it is, with a reason that its client is told. */
  end(reason: GoAwayReason, text: string): void;
}

/**
 * Who is where: which session has charge of which public address. Addresses are known by keys, texts of at most 100
 * printable characters.
 */
export interface Presence {
  /**
   * Puts a session of this node in charge: {@link find} gives it as soon as this returns. The one it takes over from,
   * on whichever node, is ended as replaced.
   */
  claim(key: string, carrier: SessionHandle): void;
  /** Ends that charge if `carrier` still has it, and says whether it had. */
  release(key: string, carrier: SessionHandle): boolean;
  /**
   * Who is in charge, or null: at once when that is known here, as for every session of this node, and else by a promise,
   * which never rejects. A node that cannot be asked counts as one that has none.
   */
  find(key: string): SessionHandle | null | Promise<SessionHandle | null>;
  /**
   * Calls `listener` once a session takes charge, on whichever node.
   * @returns what ends the watch, to be called by whoever began it
   */
  watch(key: string, listener: (carrier: SessionHandle) => void): () => void;
}

/**
 * Tells who waits that something new can be read from the store. A word may get lost between servers, and says nothing of
 * what is new: who waits looks for itself, and now and then without being told.
 */
export interface Arrivals {
  /** Wakes whoever listens for `topic`, on every node. */
  announce(topic: string): void;
  /**
   * Calls `listener`, which must not throw, for every announcement from now on.
   * @returns what ends that
   */
  listen(topic: string, listener: () => void): () => void;
}
