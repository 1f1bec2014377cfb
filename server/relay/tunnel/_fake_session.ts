import type { GoAwayReason } from "../../../protocol/mod.ts";
import { LocalPresence, type SessionHandle } from "../../cluster/mod.ts";
import type { RelayContext } from "./endpoint.ts";

/** A carrier that notes why it was ended, and lets go of what it carries then. */
export class FakeSessionHandle implements SessionHandle {
  readonly ends: GoAwayReason[] = [];
  over = false;
  readonly #detach: (carrier: SessionHandle) => void;

  constructor(detach: (carrier: SessionHandle) => void = () => {}) {
    this.#detach = detach;
  }

  open(): null {
    return null;
  }

  end(reason: GoAwayReason): void {
    this.ends.push(reason);
    this.over = true;
    this.#detach(this);
  }
}

/** A place whose clock a test turns. */
export function createPlace(clock: { time: number } = { time: 0 }): RelayContext {
  return { presence: new LocalPresence(), now: () => clock.time, startedAt: 0 };
}
