/** Reports whether a URL's hostname always means this machine (RFC 6761, section 6.3 for `localhost`). */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Reports whether only this machine can reach a listening address. */
export function isLoopbackAddress(host: string): boolean {
  const name = host.toLowerCase();
  return isLoopbackHost(name) || name === "::1";
}
