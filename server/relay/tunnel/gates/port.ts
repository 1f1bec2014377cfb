import { GoAwayReason } from "../../../../protocol/mod.ts";
import { portNotAllowed } from "../../errors.ts";
import type { Check, Endpoint } from "../endpoint.ts";

/** Closes ports of a persistent tunnel that its owner does not allow. */
export function portGate({ tunnel: { settings }, port }: Endpoint): Check | null {
  if (settings === null || settings.allowedPorts === "all" || settings.allowedPorts.includes(port)) return null;
  const end = { reason: GoAwayReason.disabled, text: `port ${port} of this tunnel is no longer allowed` };
  return { close: () => ({ refuse: () => portNotAllowed(port), end }) };
}
