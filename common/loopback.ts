/** Whether a URL's hostname can only mean this machine (RFC 6761, section 6.3 for `localhost`). */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Whether an address or name to listen on can be reached from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  const name = host.toLowerCase();
  return isLoopbackHost(name) || name === "::1";
}
