import { GoAwayReason } from "../../../../protocol/mod.ts";
import { tunnelSuspended } from "../../errors.ts";
import type { Check, Closure, Endpoint } from "../endpoint.ts";

/** Closes a persistent tunnel that the operator suspended. */
export function suspendedGate({ tunnel: { settings } }: Endpoint): Check | null {
  return settings?.suspended ? { close: () => SUSPENDED } : null;
}

const SUSPENDED: Closure = {
  refuse: tunnelSuspended,
  end: { reason: GoAwayReason.disabled, text: "the operator of the server suspended this tunnel" },
};
