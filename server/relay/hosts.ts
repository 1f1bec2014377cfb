/** A public address of a tunnel, as a Host header names it. */
export interface TunnelHost {
  /** The kind of tunnel whose domain it is below. */
  readonly kind: "ephemeral" | "persistent";
  /** What stands before the domain, in lower case; "" when no tunnel can have that. */
  readonly label: string;
}

/** The two domains of tunnels, and the server's own names, which are never a tunnel's; lower case, without port. */
export interface TunnelDomains {
  ephemeral: string;
  /** May be the other one: labels of persistent tunnels have a dash, others have none. */
  persistent: string;
  ownHosts: readonly string[];
}

/** Finds the tunnel's address in a Host header, whatever its port, its case, or a trailing dot. */
export class TunnelHosts {
  readonly #domains: TunnelDomains;
  // Visitors in a row tend to ask for the same host.
  #lastHost = "";
  #last: TunnelHost | null = null;

  constructor(domains: TunnelDomains) {
    this.#domains = domains;
  }

  /** The address, or null when the host is below none of our domains. */
  find(host: string): TunnelHost | null {
    if (host === this.#lastHost) return this.#last;
    this.#last = this.#parse(normalizeHost(host));
    this.#lastHost = host;
    return this.#last;
  }

  #parse(name: string): TunnelHost | null {
    const { ephemeral, persistent, ownHosts } = this.#domains;
    if (ownHosts.includes(name)) return null;
    const ephemeralLabel = labelBelow(name, ephemeral), persistentLabel = labelBelow(name, persistent);
    if (ephemeralLabel === null && persistentLabel === null) return null;
    // One domain may be below the other: then only one of the two finds a label.
    if (persistentLabel && (persistent !== ephemeral || persistentLabel.includes("-"))) {
      return { kind: "persistent", label: persistentLabel };
    }
    return { kind: "ephemeral", label: ephemeralLabel ?? "" };
  }
}

/** The label before a domain, "" when what stands there is none, or null when the name is not below that domain. */
function labelBelow(name: string, domain: string): string | null {
  if (!name.endsWith(domain) || name.at(-domain.length - 1) !== ".") return null;
  const label = name.slice(0, -domain.length - 1);
  return LABEL.test(label) ? label : "";
}

/** One DNS label (RFC 1035, section 2.3.1; a digit may come first by RFC 1123, section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A Host header's name: without port and trailing dot, in lower case. */
export function normalizeHost(host: string): string {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}
