import { GoAwayReason } from "../../../../protocol/mod.ts";
import { allowanceExhausted } from "../../errors.ts";
import type { Check, Closure, Endpoint, Limited, RelayContext } from "../endpoint.ts";

/** Closes a persistent tunnel while its user's monthly allowance is used up. */
export function allowanceGate({ tunnel }: Endpoint, { now }: Pick<RelayContext, "now">): Check | null {
  if (tunnel.allowance === null) return null;
  const exhausted: Closure = {
    refuse: () => allowanceExhausted(now()),
    end: { reason: GoAwayReason.allowance, text: "the traffic of this month is used up" },
  };
  return { close: (claimant: Limited | null = tunnel.allowance) => claimant?.isExhausted ? exhausted : null };
}
