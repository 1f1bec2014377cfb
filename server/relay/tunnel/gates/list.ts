import type { Gate } from "../endpoint.ts";
import { allowanceGate } from "./allowance.ts";
import { createConcurrencyGate } from "./concurrency.ts";
import { disabledGate } from "./disabled.ts";
import { expiryGate } from "./expiry.ts";
import { portGate } from "./port.ts";
import { suspendedGate } from "./suspended.ts";
import { trafficGate } from "./traffic.ts";

/**
 * Returns a relay's gates in the order in which visitors pass them. A new gate is one file and one line here. The
 * relay adds the draining gate itself when it drains.
 */
export function createGates({ maxRequestsPerVisitor }: { maxRequestsPerVisitor: number }): Gate[] {
  return [
    suspendedGate,
    disabledGate,
    portGate,
    allowanceGate,
    trafficGate,
    expiryGate,
    createConcurrencyGate(maxRequestsPerVisitor),
  ];
}
