import { tooManyOfVisitor } from "../../errors.ts";
import type { Gate } from "../endpoint.ts";

/**
 * Limits the requests that one visitor has open at a time, over HTTP/2 or behind a trusted proxy. Any other visitor
 * needs a connection for each request, and the listener limits connections.
 * @param max requests of one address, or IPv6 network of 64 bits, upgrades included
 */
export function createConcurrencyGate(max: number): Gate {
  const running = new Map<string, number>();
  const count = (network: string, change: number) => {
    const total = (running.get(network) ?? 0) + change;
    if (total > 0) running.set(network, total);
    else running.delete(network);
  };
  return () => ({
    onlyShared: true,
    admit(visit) {
      if (visit.wasHeld) return null;
      const { network } = visit.visitor;
      if ((running.get(network) ?? 0) >= max) return tooManyOfVisitor();
      count(network, 1);
      visit.onEnd(() => count(network, -1));
      return null;
    },
  });
}
