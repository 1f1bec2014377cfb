import ipaddr from "ipaddr.js";
import { networkInterfaces } from "node:os";
import { resolveBySystem, type Resolver } from "./resolve.ts";

/** Whether this server itself is what answers at an address and port. Never rejects. */
export type OwnAddressCheck = (address: string, port: number) => boolean | Promise<boolean>;

/** By what a server recognises its own addresses. */
export interface OwnAddressOptions {
  /** The port that this server listens on. */
  port: number;
  /**
   * Where others reach it, when nothing in front of it serves other hosts there too: an address translator gives it an
   * address that no interface of this machine has.
   */
  outside?: { hostname: string; port: number };
  resolver?: Resolver;
  /** Addresses of this machine's interfaces. */
  readInterfaces?: () => string[];
}

/** Interfaces and names change, if seldom; strangers must not have us read them for every request. */
const REFRESH_MS = 10_000;

/** Creates the check for a server that listens on any of its machine's addresses. */
export function createOwnAddressCheck(options: OwnAddressOptions): OwnAddressCheck {
  const { port, outside, resolver = resolveBySystem, readInterfaces = readSystemInterfaces } = options;
  const inner = refreshed(() => new Set(readInterfaces().map(normalize)));
  // A name that does not resolve leads nobody here.
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

/** A value that is read again when it is asked for and has become old. */
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

/** One spelling for one address: no zone, an IPv4-mapped one as IPv4. */
function normalize(address: string): string {
  const text = address.replace(/%.*$/, "");
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : text;
}

/** Loopback, and the unspecified addresses, which systems dial as loopback. */
function meansThisMachine(address: string): boolean {
  return ipaddr.isValid(address) && ["loopback", "unspecified"].includes(ipaddr.parse(address).range());
}
