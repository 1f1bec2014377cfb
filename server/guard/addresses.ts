import ipaddr from "ipaddr.js";

/** An IP address range: a network and its prefix length. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Forbidden ranges that `ipaddr.js` treats as ordinary unicast, each with the reason. The list has all IPv6 forms that
 * contain an IPv4 address, because a gateway may translate them to a private address.
 */
const REFUSED_RANGES: readonly AddressRange[] = [
  "::/96", // IPv4-compatible (RFC 4291, section 2.5.5.1): ::127.0.0.1
  "64:ff9b::/96", // NAT64 (RFC 6052)
  "64:ff9b:1::/48", // local-use NAT64 (RFC 8215)
  "2001::/32", // Teredo (RFC 4380)
  "2002::/16", // 6to4 (RFC 3056)
  "2001:db8::/32", // documentation (RFC 3849)
  "3fff::/20", // documentation (RFC 9637)
  "5f00::/16", // segment routing (RFC 9602)
  "100::/64", // discard (RFC 6666)
  "fec0::/10", // site-local (RFC 3879)
  "0.0.0.0/8", // this network (RFC 1122)
  "100.64.0.0/10", // shared address space of carriers, and 100.100.100.200, a cloud's metadata (RFC 6598)
  "192.0.0.0/24", // protocol assignments (RFC 6890)
  "192.0.2.0/24", // documentation (RFC 5737)
  "192.88.99.0/24", // 6to4 relays (RFC 7526)
  "198.18.0.0/15", // benchmarks (RFC 2544)
  "198.51.100.0/24", // documentation (RFC 5737)
  "203.0.113.0/24", // documentation (RFC 5737)
  "240.0.0.0/4", // reserved (RFC 1112)
  "168.63.129.16/32", // a cloud's host agent on a public number
].map(parseAddressRange);

/** Parses an address or a CIDR range. @throws SyntaxError */
export function parseAddressRange(text: string): AddressRange {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) throw new SyntaxError(`"${text}" is neither an IP address nor a CIDR range`);
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/**
 * Matches `::1.2.3.4`, an IPv4-compatible address, which no network routes. `ipaddr.js` reads it as the IPv4-mapped
 * `::ffff:1.2.3.4`.
 */
const isCompatibleForm = (address: string): boolean => /^[0:]+:\d+\.\d/.test(address);

/** Whether a range contains an address. An IPv4-mapped IPv6 address counts as IPv4. */
export function isAddressIn(address: string, ranges: readonly AddressRange[]): boolean {
  if (!ipaddr.isValid(address) || isCompatibleForm(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
}

/** Whether an address is public: not private, local, reserved or translated. */
export function isPublicAddress(address: string): boolean {
  // Only link-local addresses have a zone (fe80::1%eth0).
  if (!ipaddr.isValid(address) || address.includes("%") || isCompatibleForm(address)) return false;
  return ipaddr.process(address).range() === "unicast" && !isAddressIn(address, REFUSED_RANGES);
}
