import type { Contestant, ContestantOptions } from "./types.ts";

/** Nothing between the visitor and the service. */
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
