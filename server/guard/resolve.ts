import { lookup } from "node:dns/promises";

/** All addresses of a name, best first. Rejects when there are none. */
export type Resolver = (hostname: string) => Promise<string[]>;

/** Asks the system. Names below `localhost` are this machine (RFC 6761, section 6.3), which not every system knows. */
export async function resolveBySystem(hostname: string): Promise<string[]> {
  if (/(^|\.)localhost\.?$/.test(hostname)) return ["127.0.0.1", "::1"];
  return (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);
}
