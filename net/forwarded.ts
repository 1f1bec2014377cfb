import ipaddr from "ipaddr.js";
import type { Exchange } from "./listener/mod.ts";

/** Who a request comes from and how it reached us, as far as that can be believed. */
export interface Origin {
  /** Address of the visitor. */
  address: string;
  proto: "http" | "https";
  /** The host as the visitor wrote it. */
  host: string;
  /** True when a trusted proxy spoke for them, so that the connection is not theirs. */
  isProxied?: boolean;
}

/** Tells who really asks, and how, behind the operator's own reverse proxies. */
export type OriginReader = (exchange: Exchange) => Origin;

/**
 * Reads where a request comes from. `X-Forwarded-For`, `-Proto` and `-Host` count only when the peer is one of
 * `trusted`; of a list of addresses the last that is not a trusted proxy counts, so a visitor cannot make one up.
 * @param trusted addresses or CIDR ranges of reverse proxies in front of this server
 * @throws SyntaxError for an entry that is neither
 */
export function createOriginReader(trusted: readonly string[]): OriginReader {
  const isTrusted = createTrustCheck(trusted);

  return (exchange) => {
    const { host } = exchange;
    const address = unmap(exchange.remoteAddress);
    const proto = exchange.secure ? "https" : "http";
    if (trusted.length === 0 || !isTrusted(address)) return { address, proto, host };
    const claimedHost = exchange.header("x-forwarded-host");
    const claimed = exchange.header("x-forwarded-proto");
    const visitor = findVisitor(address, exchange.header("x-forwarded-for") ?? "", isTrusted);
    return {
      address: visitor,
      proto: claimed === "https" || claimed === "http" ? claimed : proto,
      host: claimedHost !== null && /^[\w.:[\]-]+$/.test(claimedHost) ? claimedHost : host,
      isProxied: visitor !== address,
    };
  };
}

/**
 * A test of whether an address is within `trusted`, addresses and CIDR ranges.
 * @throws SyntaxError for an entry that is neither
 */
export function createTrustCheck(trusted: readonly string[]): (address: string) => boolean {
  const ranges = trusted.map(parseRange);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
  };
}

/**
 * Each proxy adds the peer it sees at the end of the list, so it is read from there, as far as proxies of ours go. What
 * cannot be read ends the search: what comes before it may be the visitor's own words.
 */
function findVisitor(peer: string, list: string, isTrusted: (address: string) => boolean): string {
  let visitor = peer;
  for (const hop of list.split(",").reverse()) {
    const address = parseHop(hop.trim());
    if (address === null) break;
    visitor = address;
    if (!isTrusted(address)) break;
  }
  return visitor;
}

/** The address of a hop, which some proxies write with its port. */
function parseHop(hop: string): string | null {
  const text = /^\[(.*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : null;
}

/** A listener on all addresses shows IPv4 peers in their IPv6 form. */
function unmap(address: string): string {
  return address.startsWith("::ffff:") ? parseHop(address) ?? address : address;
}

function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) throw new SyntaxError(`"${text}" is neither an IP address nor a CIDR range`);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
