import { GoAwayReason } from "../../../../protocol/mod.ts";
import { tunnelExpired } from "../../errors.ts";
import type { Check, Closure, Endpoint, RelayContext } from "../endpoint.ts";

/** Closes an ephemeral tunnel at the end of its lifetime. */
export function expiryGate({ tunnel: { expiresAt } }: Endpoint, { now }: Pick<RelayContext, "now">): Check | null {
  return expiresAt === null ? null : { close: () => now() >= expiresAt ? EXPIRED : null };
}

const EXPIRED: Closure = {
  refuse: tunnelExpired,
  end: { reason: GoAwayReason.expired, text: "the tunnel has expired" },
};
