import { lookup } from "node:dns/promises";

/** Returns a name's addresses, best first. Rejects if there are none. */
export type Resolver = (hostname: string) => Promise<string[]>;

/** Resolves names by the system. Names below `localhost` resolve to loopback, which some systems lack (RFC 6761, 6.3). */
export async function resolveBySystem(hostname: string): Promise<string[]> {
  if (/(^|\.)localhost\.?$/.test(hostname)) return ["127.0.0.1", "::1"];
  return (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);
}
