import ipaddr from "ipaddr.js";

/**
 * What one visitor has for itself, to count by: an IPv4 address, or the /64 network of an IPv6 address, whose owner can
 * take any address in it.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : parsed.toNormalizedString().split(":", 4).join(":") + "::/64";
}
