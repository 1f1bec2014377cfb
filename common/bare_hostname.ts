/** A host name as names are compared: lower case, no brackets around an IPv6 address, no dot of the root. */
export function bareHostname(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
