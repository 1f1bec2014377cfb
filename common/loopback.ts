/** Whether a URL's hostname can only mean this machine (RFC 6761, section 6.3 for `localhost`). */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127\./.test(hostname);
}
