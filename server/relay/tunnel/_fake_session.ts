import type { GoAwayReason } from "../../../protocol/mod.ts";
import { LocalPresence, type SessionHandle } from "../../cluster/mod.ts";
import { Gates, type RelayContext } from "./endpoint.ts";
import { createGates } from "./gates/list.ts";

/** A session that records why it was ended, and detaches itself then. */
export class FakeSessionHandle implements SessionHandle {
  readonly ends: GoAwayReason[] = [];
  over = false;
  readonly #detach: (session: SessionHandle) => void;

  constructor(detach: (session: SessionHandle) => void = () => {}) {
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

/** A context with the relay's gates and a clock that the test sets. */
export function createContext(clock: { time: number } = { time: 0 }): RelayContext {
  const gates = new Gates(createGates({ maxRequestsPerVisitor: 100 }));
  return { presence: new LocalPresence(), gates, now: () => clock.time, startedAt: 0 };
}
