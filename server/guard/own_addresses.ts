import ipaddr from "ipaddr.js";
import { networkInterfaces } from "node:os";
import { resolveBySystem, type Resolver } from "./resolve.ts";

/** Whether this server itself listens at an address and port. Never rejects. */
export type OwnAddressCheck = (address: string, port: number) => boolean | Promise<boolean>;

/** The facts by which a server recognises its own addresses. */
export interface OwnAddressOptions {
  /** The port that this server listens on. */
  port: number;
  /**
   * The public host and port, if no reverse proxy serves other hosts there too. Behind an address translator, no local
   * interface has the public address.
   */
  outside?: { hostname: string; port: number };
  resolver?: Resolver;
  /** Returns the addresses of local interfaces. */
  readInterfaces?: () => string[];
}

/** Interfaces and names change rarely, so requests share one look-up for this time. */
const REFRESH_MS = 10_000;

/** Creates the check for a server that listens on local addresses. */
export function createOwnAddressCheck(options: OwnAddressOptions): OwnAddressCheck {
  const { port, outside, resolver = resolveBySystem, readInterfaces = readSystemInterfaces } = options;
  const inner = refreshed(() => new Set(readInterfaces().map(normalize)));
  // A name without addresses does not lead to this server.
  const outer = refreshed(() =>
    resolver(outside?.hostname ?? "").then((all) => new Set(all.map(normalize)), () => NONE)
  );

  return (text, dialled) => {
    const address = normalize(text);
    if (dialled === port && (meansThisMachine(address) || inner().has(address))) return true;
    if (dialled !== outside?.port) return false;
    return outer().then((addresses) => addresses.has(address));
  };
}

const NONE: ReadonlySet<string> = new Set();

/** Caches a value and reads it again when it is too old. */
function refreshed<T>(read: () => T): () => T {
  let value: { readonly of: T; readonly at: number } | null = null;
  return () => {
    const now = performance.now();
    if (value === null || now - value.at > REFRESH_MS) value = { of: read(), at: now };
    return value.of;
  };
}

function readSystemInterfaces(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => all ?? []).map(({ address }) => address);
}

/** Normalizes an address: no zone, and IPv4 for an IPv4-mapped one. */
function normalize(address: string): string {
  const text = address.replace(/%.*$/, "");
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : text;
}

/** Whether an address is loopback or unspecified, which systems dial as loopback. */
function meansThisMachine(address: string): boolean {
  return ipaddr.isValid(address) && ["loopback", "unspecified"].includes(ipaddr.parse(address).range());
}
