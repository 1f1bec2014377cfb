/** Which ports of this machine visitors reach, and under which host. Hosts have their port with them: `a.example:8443`. */
export interface PublicPorts {
  /** Those that can be listed: all of them, but for a tunnel that allows any port. */
  readonly known: readonly number[];
  /** The host of a port, for who came to the host `base` of the same tunnel; null when the port is not public. */
  toPublic(port: number, base: string): string | null;
  /** The port that a host leads to, for who came to the host `base`; null when it is no host of the tunnel. */
  toLocal(host: string, base: string): number | null;
}

/** Of a tunnel that leads to one port, whatever its host. */
export function exposeOne(port: number): PublicPorts {
  return {
    known: [port],
    toPublic: (asked, base) => asked === port ? base : null,
    toLocal: (host, base) => host === base ? port : null,
  };
}

/** Which ports of this machine visitors reach through a tunnel. */
export interface TunnelPorts {
  /** What the tunnel's own host leads to. */
  defaultPort: number;
  /** What else is reached, at `<label>--<port>`. */
  allowed: "all" | readonly number[];
}

/** Of a tunnel whose first label says the port: `<label>` the default one, `<label>--<port>` another. */
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

/** A host of a tunnel: its label less the port in it, that port, and what comes behind the first label. */
function split(host: string): { label: string; port: number | null; rest: string } {
  const [, label, port, rest] = /^([^.:]*?)(?:--([1-9]\d{0,4}))?((?:[.:].*)?)$/.exec(host) ?? [, host, undefined, ""];
  return { label, port: port === undefined ? null : Number(port), rest };
}
