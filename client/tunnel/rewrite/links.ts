import { isLocalHost, type Link } from "./link_grammar.ts";
import type { PublicPorts } from "./public_ports.ts";

/** What a service is known by besides the local host's names. */
export interface OwnHosts {
  /** Its port. */
  readonly port: number;
  /** Its scheme, where a link leaves that to the page. */
  readonly scheme: string;
  /** Hosts as it names itself, with a port or without, in lower case: where it is, and the Host that it sees. */
  readonly authorities: ReadonlySet<string>;
}

/** Where links lead, for the visitors of one public URL. */
export class Links {
  readonly isSecure: boolean;
  readonly #ports: PublicPorts;
  readonly #own: OwnHosts;
  /** The host that visitors came to, with its port. */
  readonly #base: string;
  readonly #hosts = new Map<number, string | null>();

  constructor(ports: PublicPorts, own: OwnHosts, base: string, isSecure: boolean) {
    this.#ports = ports;
    this.#own = own;
    this.#base = base;
    this.isSecure = isSecure;
  }

  /** The host, with its port, where a link leads; null when it stays as it is. */
  find({ host, port, scheme }: Link): string | null {
    if (isLocalHost(host)) return this.hostOf(port ?? this.defaultPort(scheme));
    return this.#own.authorities.has(port === null ? host : `${host}:${port}`) ? this.hostOf(this.#own.port) : null;
  }

  /** The host at which a port of this machine is public, or null. */
  hostOf(port: number): string | null {
    const known = this.#hosts.get(port);
    if (known !== undefined) return known;
    const host = this.#ports.toPublic(port, this.#base);
    // A stranger may write any number into a page.
    if (this.#hosts.size < MAX_HOSTS) this.#hosts.set(port, host);
    return host;
  }

  get knownPorts(): readonly number[] {
    return this.#ports.known;
  }

  /** The port of a URL that names none. */
  defaultPort(scheme: string): number {
    return DEFAULT_PORTS[scheme === "" ? this.#own.scheme : scheme];
  }

  /** The scheme that visitors need in the place of a local one. */
  toPublicScheme(scheme: string): string {
    return `${scheme.startsWith("h") ? "http" : "ws"}${this.isSecure ? "s" : ""}`;
  }
}

const MAX_HOSTS = 64;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, ws: 80, wss: 443 };
