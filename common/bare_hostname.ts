/** Returns a host name in its form for comparisons: lower case, without IPv6 brackets and without a trailing dot. */
export function bareHostname(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
