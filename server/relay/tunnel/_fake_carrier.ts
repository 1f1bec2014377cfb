import type { GoAwayReason } from "../../../protocol/mod.ts";
import { type Carrier, LocalPresence } from "../../cluster/mod.ts";
import type { RelayPlace } from "./endpoint.ts";

/** A carrier that notes why it was ended, and lets go of what it carries then. */
export class FakeCarrier implements Carrier {
  readonly ends: GoAwayReason[] = [];
  over = false;
  readonly #detach: (carrier: Carrier) => void;

  constructor(detach: (carrier: Carrier) => void = () => {}) {
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
export function createPlace(clock: { time: number } = { time: 0 }): RelayPlace {
  return { presence: new LocalPresence(), now: () => clock.time, startedAt: 0 };
}
