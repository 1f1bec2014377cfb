/** The two domains of tunnels, and how a Host header finds its label. */
export interface HostMatcher {
  /** The label under the ephemeral domain, or null when the host is none of ours. */
  ephemeralLabel(host: string): string | null;
}

/**
 * @param ephemeralDomain lower case, without port: a tunnel's host is `<label>.<domain>`, whatever its port, its case,
 * or a trailing dot
 * @param ownHost the server's own name, likewise: it is no tunnel's, even when it is below that domain
 */
export function createHostMatcher(ephemeralDomain: string, ownHost: string): HostMatcher {
  const suffix = `.${ephemeralDomain}`;
  // Visitors in a row tend to ask for the same host.
  let lastHost = "", lastLabel: string | null = null;

  function parse(host: string): string | null {
    const name = normalizeHost(host);
    if (!name.endsWith(suffix) || name === ownHost) return null;
    const label = name.slice(0, -suffix.length);
    return LABEL.test(label) ? label : "";
  }

  return {
    ephemeralLabel(host) {
      if (host === lastHost) return lastLabel;
      lastLabel = parse(host);
      lastHost = host;
      return lastLabel;
    },
  };
}

/** One DNS label (RFC 1035, section 2.3.1; a digit may come first by RFC 1123, section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A Host header's name: without port and trailing dot, in lower case. */
export function normalizeHost(host: string): string {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}
