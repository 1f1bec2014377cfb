import type { Principal } from "./principal.ts";

/**
 * A permission that ended. Holders of open streams subscribe to it and end the streams concerned. The variants:
 * - a user lost all permissions, or those in one account;
 * - a login was revoked: a client's login, a personal token or a browser's session. A `successor`, another login by the
 *   same user, takes over its tunnels;
 * - a login switched to another account and left `leftAccountId`.
 */
export type Ended =
  | { readonly userId: string; readonly accountId: string | null }
  | { readonly login: string; readonly successor?: string }
  | { readonly login: string; readonly leftAccountId: string };

/** Whether a principal acted under a permission that ended. */
function isAffected(ended: Ended, { user, account, login }: Principal): boolean {
  if ("userId" in ended) {
    return user.id === ended.userId && (ended.accountId === null || account.id === ended.accountId);
  }
  return login === ended.login && (!("leftAccountId" in ended) || account.id === ended.leftAccountId);
}

/** An area's open streams with the principals that opened them. */
export class OpenStreams {
  readonly #streams = new Map<symbol, { principal: Principal; onEnded: (ended: Ended) => void }>();
  #endings = 0;

  /** Counts ended permissions. After a change, a check that ran meanwhile has to run again. */
  get endings(): number {
    return this.#endings;
  }

  /**
   * Registers a stream.
   * @param onEnded ends the stream; called at most once
   * @returns removes the stream from the registry
   */
  add(principal: Principal, onEnded: (ended: Ended) => void): () => void {
    const key = Symbol();
    this.#streams.set(key, { principal, onEnded });
    return () => void this.#streams.delete(key);
  }

  /** Ends all streams that were opened with this permission. */
  end(ended: Ended): void {
    this.#endings++;
    for (const [key, { principal, onEnded }] of [...this.#streams]) {
      if (!isAffected(ended, principal)) continue;
      this.#streams.delete(key);
      onEnded(ended);
    }
  }
}
