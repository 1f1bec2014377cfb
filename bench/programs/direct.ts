import type { Contestant, ContestantOptions } from "./types.ts";

/** A direct connection between visitor and service. */
export function startDirect({ service }: ContestantOptions): Promise<Contestant> {
  return Promise.resolve({
    name: "direct",
    endpoint: { port: service, host: `127.0.0.1:${service}` },
    relay: [],
    client: [],
    lacks: new Set(),
    stop: () => Promise.resolve(),
  });
}
