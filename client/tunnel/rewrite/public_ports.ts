/** Maps public local ports to hosts. A host includes its port: `a.example:8443`. */
export interface PublicPorts {
  /** The ports that can be listed: all, unless the tunnel allows any port. */
  readonly known: readonly number[];
  /** Returns a port's host for a visitor to the host `base`; null if the port is not public. */
  toPublic(port: number, base: string): string | null;
  /** Returns the port that a host leads to for a visitor to the host `base`; null for a host outside the tunnel. */
  toLocal(host: string, base: string): number | null;
}

/** Returns the map for a tunnel that leads to one port, whatever its host. */
export function exposeOne(port: number): PublicPorts {
  return {
    known: [port],
    toPublic: (asked, base) => asked === port ? base : null,
    toLocal: (host, base) => host === base ? port : null,
  };
}

/** The local ports that a tunnel exposes. */
export interface TunnelPorts {
  /** The port at the tunnel's own host. */
  defaultPort: number;
  /** The ports at `<label>--<port>`. */
  allowed: "all" | readonly number[];
}

/**
 * Returns the map for a tunnel whose first label names the port: `<label>` for the default one, `<label>--<port>` for
 * others.
 */
export function exposeSeveral({ defaultPort, allowed }: TunnelPorts): PublicPorts {
  const known = [...new Set([defaultPort, ...(allowed === "all" ? [] : allowed)])];
  const isPublic = (port: number) => known.includes(port) || (allowed === "all" && port >= 1 && port <= 65_535);
  return {
    known,
    toPublic(port, base) {
      const { label, rest } = split(base);
      if (!isPublic(port)) return null;
      return port === defaultPort ? `${label}${rest}` : `${label}--${port}${rest}`;
    },
    toLocal(host, base) {
      const one = split(host), other = split(base);
      if (one.label !== other.label || one.rest !== other.rest) return null;
      const port = one.port ?? defaultPort;
      return isPublic(port) ? port : null;
    },
  };
}

/** Splits a tunnel's host: its label without the port, the port, and the part after the first label. */
function split(host: string): { label: string; port: number | null; rest: string } {
  const [, label, port, rest] = /^([^.:]*?)(?:--([1-9]\d{0,4}))?((?:[.:].*)?)$/.exec(host) ?? [, host, undefined, ""];
  return { label, port: port === undefined ? null : Number(port), rest };
}
