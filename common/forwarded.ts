import ipaddr from "ipaddr.js";
import type { Exchange } from "./listener/mod.ts";

/** Who a request comes from and how it reached us, as far as that can be believed. */
export interface Origin {
  /** Address of the visitor. */
  address: string;
  proto: "http" | "https";
  /** The host as the visitor wrote it. */
  host: string;
}

export type OriginReader = (exchange: Exchange) => Origin;

/**
 * Reads where a request comes from. `X-Forwarded-For`, `-Proto` and `-Host` count only when the peer is one of
 * `trusted`; of a list of addresses the last that is not a trusted proxy counts, so a visitor cannot make one up.
 * @param trusted addresses or CIDR ranges of reverse proxies in front of this server
 * @throws SyntaxError for an entry that is neither
 */
export function createOriginReader(trusted: readonly string[]): OriginReader {
  const ranges = trusted.map(parseRange);
  const isTrusted = (address: string) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
  };

  return (exchange) => {
    const { remoteAddress: address, host } = exchange;
    const proto = exchange.secure ? "https" : "http";
    if (ranges.length === 0 || !isTrusted(address)) return { address, proto, host };
    const hops = (exchange.header("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim()).filter(ipaddr.isValid);
    const claimedHost = exchange.header("x-forwarded-host");
    const claimed = exchange.header("x-forwarded-proto");
    return {
      address: hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? address,
      proto: claimed === "https" || claimed === "http" ? claimed : proto,
      host: claimedHost !== null && /^[\w.:[\]-]+$/.test(claimedHost) ? claimedHost : host,
    };
  };
}

function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) throw new SyntaxError(`"${text}" is neither an IP address nor a CIDR range`);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
