import { GoAwayReason } from "../../../../protocol/mod.ts";
import { tunnelDisabled } from "../../errors.ts";
import type { Check, Closure, Endpoint } from "../endpoint.ts";

/** Closes a persistent tunnel that its owner switched off. */
export function disabledGate({ tunnel: { settings } }: Endpoint): Check | null {
  return settings === null || settings.enabled ? null : { close: () => DISABLED };
}

const DISABLED: Closure = {
  refuse: tunnelDisabled,
  end: { reason: GoAwayReason.disabled, text: "this tunnel was switched off" },
};
