import { isLocalHost, type Link } from "./link_grammar.ts";
import type { PublicPorts } from "./public_ports.ts";

/** A service's names beside those of the local host. */
export interface OwnHosts {
  /** The service's port. */
  readonly port: number;
  /** The scheme for links that inherit the page's scheme. */
  readonly scheme: string;
  /** Lower-case names for the service, with and without a port: its address and the Host that it receives. */
  readonly authorities: ReadonlySet<string>;
}

/** Finds link targets for visitors to one public URL. */
export class Links {
  readonly isSecure: boolean;
  readonly #ports: PublicPorts;
  readonly #own: OwnHosts;
  /** The visitors' host with its port. */
  readonly #base: string;
  readonly #hosts = new Map<number, string | null>();

  constructor(ports: PublicPorts, own: OwnHosts, base: string, isSecure: boolean) {
    this.#ports = ports;
    this.#own = own;
    this.#base = base;
    this.isSecure = isSecure;
  }

  /** Returns the public host and port for a link; null if it stays unchanged. */
  find({ host, port, scheme }: Link): string | null {
    if (isLocalHost(host)) return this.hostOf(port ?? this.defaultPort(scheme));
    return this.#own.authorities.has(port === null ? host : `${host}:${port}`) ? this.hostOf(this.#own.port) : null;
  }

  /** Returns the public host for a local port, or null. */
  hostOf(port: number): string | null {
    const known = this.#hosts.get(port);
    if (known !== undefined) return known;
    const host = this.#ports.toPublic(port, this.#base);
    // An untrusted page may contain any number, so the cache is limited.
    if (this.#hosts.size < MAX_HOSTS) this.#hosts.set(port, host);
    return host;
  }

  get knownPorts(): readonly number[] {
    return this.#ports.known;
  }

  /** Returns the port for a URL without one. */
  defaultPort(scheme: string): number {
    return DEFAULT_PORTS[scheme === "" ? this.#own.scheme : scheme];
  }

  /** Returns the public scheme that replaces a local one. */
  toPublicScheme(scheme: string): string {
    return `${scheme.startsWith("h") ? "http" : "ws"}${this.isSecure ? "s" : ""}`;
  }
}

const MAX_HOSTS = 64;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, ws: 80, wss: 443 };
