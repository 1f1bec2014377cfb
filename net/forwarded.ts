import ipaddr from "ipaddr.js";
import type { RequestHead } from "./http1/mod.ts";

/** The source of a request, as far as this server can trust it. */
export interface Origin {
  /** Address of the visitor. */
  address: string;
  /** {@link address}, or its /64 network for IPv6: the key of per-visitor limits. */
  network: string;
  proto: "http" | "https";
  /** The host as the visitor wrote it. */
  host: string;
  /** True when a trusted proxy named the visitor, so that other visitors share the connection. */
  isProxied?: boolean;
}

/** The parts of an exchange that show its source. */
export interface ReceivedRequest {
  /** Address of the connection's peer. */
  readonly remoteAddress: string;
  /** Whether this server ended TLS. */
  readonly secure: boolean;
  readonly host: string;
  readonly head: RequestHead;
}

/** Returns the source of a request behind the operator's own reverse proxies. */
export type OriginReader = (request: ReceivedRequest) => Origin;

/** Peers and sets of forwarded fields whose parsed form is kept. Both are powers of two. */
const KEPT_PEERS = 1024, KEPT_CLAIMS = 1024;
/** Total bytes of forwarded fields that are kept; longer ones are parsed for each request. */
const MAX_KEPT_BYTES = 256;

/**
 * Creates the reader of request sources. `X-Forwarded-For`, `-Proto` and `-Host` count only if the peer is one of
 * `trusted`. The visitor is the last address in the list that is not a trusted proxy, so visitors cannot forge it.
 * @param trusted addresses or CIDR ranges of reverse proxies in front of this server
 * @throws SyntaxError for an entry that is neither
 */
export function createOriginReader(trusted: readonly string[]): OriginReader {
  const peers = new Peers(createTrustCheck(trusted));
  const claims = new ClaimCache(peers);
  return ({ remoteAddress, secure, host, head }) => {
    const peer = peers.find(remoteAddress);
    const proto = secure ? "https" : "http";
    if (!peer.isTrusted) return { address: peer.address, network: peer.network, proto, host };
    const claim = claims.read(head, peer);
    return {
      address: claim.address,
      network: claim.network,
      proto: claim.proto ?? proto,
      host: claim.host ?? host,
      isProxied: claim.address !== peer.address,
    };
  };
}

/**
 * Creates a test for addresses within `trusted`, a list of addresses and CIDR ranges.
 * @throws SyntaxError for an entry that is neither
 */
export function createTrustCheck(trusted: readonly string[]): (address: string) => boolean {
  const ranges = trusted.map(parseRange);
  return (address) => {
    if (ranges.length === 0 || !ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
  };
}

function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) throw new SyntaxError(`"${text}" is neither an IP address nor a CIDR range`);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** The peer of a connection. */
interface Peer {
  /** An IPv4 address in its own form, also where the listener reports it as IPv6. */
  readonly address: string;
  readonly network: string;
  readonly isTrusted: boolean;
}

/** Parses the address of each peer once. */
class Peers {
  readonly isTrusted: (address: string) => boolean;
  readonly #known = new Map<string, Peer>();
  #lastAddress = "";
  #last: Peer;

  constructor(isTrusted: (address: string) => boolean) {
    this.isTrusted = isTrusted;
    this.#last = this.#parse("");
  }

  find(remoteAddress: string): Peer {
    if (remoteAddress === this.#lastAddress) return this.#last;
    let peer = this.#known.get(remoteAddress);
    if (peer === undefined) {
      peer = this.#parse(remoteAddress);
      if (this.#known.size >= KEPT_PEERS) this.#known.clear();
      this.#known.set(remoteAddress, peer);
    }
    this.#lastAddress = remoteAddress;
    return this.#last = peer;
  }

  #parse(remoteAddress: string): Peer {
    const isMapped = remoteAddress.startsWith("::ffff:");
    const address = isMapped ? parseHop(remoteAddress) ?? remoteAddress : remoteAddress;
    return { address, network: networkOf(address), isTrusted: this.isTrusted(address) };
  }
}

/** The source of a request in the words of a trusted proxy. */
interface Claim {
  readonly address: string;
  readonly network: string;
  readonly proto: "http" | "https" | null;
  readonly host: string | null;
}

/** A parsed claim with the bytes that it was parsed from. */
interface KeptClaim extends Claim {
  readonly peer: Peer;
  /** The values of the three fields, one after the other. */
  readonly bytes: Uint8Array;
  /** Lengths of the first two values; -1 for a missing field. */
  readonly forSize: number;
  readonly protoSize: number;
}

/**
 * Reads the forwarded fields of a head, and parses each set of values once. A proxy sends the same values for each
 * request of a visitor, and parsing costs as much as the rest of the head. Slots are chosen by a hash of the bytes, so
 * visitors who vary their fields evict single entries.
 */
class ClaimCache {
  readonly #peers: Peers;
  readonly #kept: (KeptClaim | undefined)[] = new Array(KEPT_CLAIMS).fill(undefined);

  constructor(peers: Peers) {
    this.#peers = peers;
  }

  read(head: RequestHead, peer: Peer): Claim {
    let forField = -1, protoField = -1, hostField = -1;
    for (let field = 0; field < head.fieldCount; field++) {
      const size = head.nameEnd(field) - head.nameStart(field);
      if (size < FOR.length || size > HOST.length) continue;
      // Repeated lines are rare, and count as one list.
      if (size === FOR.length && head.isNamed(field, FOR)) {
        if (forField >= 0) return this.#parse(head, peer);
        forField = field;
      } else if (size === HOST.length && head.isNamed(field, HOST)) {
        if (hostField >= 0) return this.#parse(head, peer);
        hostField = field;
      } else if (size === PROTO.length && head.isNamed(field, PROTO)) {
        if (protoField >= 0) return this.#parse(head, peer);
        protoField = field;
      }
    }
    return this.#find(head, peer, forField, protoField, hostField);
  }

  #find(head: RequestHead, peer: Peer, forField: number, protoField: number, hostField: number): Claim {
    const forSize = sizeOf(head, forField), protoSize = sizeOf(head, protoField), hostSize = sizeOf(head, hostField);
    const total = Math.max(0, forSize) + Math.max(0, protoSize) + Math.max(0, hostSize);
    if (total > MAX_KEPT_BYTES) return this.#parse(head, peer);
    const hash = hashValue(head, hostField, hashValue(head, protoField, hashValue(head, forField, total)));
    const slot = hash & (KEPT_CLAIMS - 1), found = this.#kept[slot];
    if (
      found !== undefined && found.peer === peer && found.bytes.length === total && found.forSize === forSize &&
      found.protoSize === protoSize && isSame(head, forField, found.bytes, 0) &&
      isSame(head, protoField, found.bytes, Math.max(0, forSize)) &&
      isSame(head, hostField, found.bytes, total - Math.max(0, hostSize))
    ) return found;
    const bytes = new Uint8Array(total);
    let at = 0;
    for (const field of [forField, protoField, hostField]) {
      if (field < 0) continue;
      const value = head.bytes.subarray(head.nameEnd(field) + 1, head.valueEnd(field));
      bytes.set(value, at);
      at += value.length;
    }
    const kept: KeptClaim = { ...this.#parse(head, peer), peer, bytes, forSize, protoSize };
    this.#kept[slot] = kept;
    return kept;
  }

  #parse(head: RequestHead, peer: Peer): Claim {
    const proto = head.values(PROTO), host = head.values(HOST);
    const address = findVisitor(peer.address, head.values(FOR) ?? "", this.#peers.isTrusted);
    return {
      address,
      network: networkOf(address),
      proto: proto === "https" || proto === "http" ? proto : null,
      host: host !== null && /^[\w.:[\]-]+$/.test(host) ? host : null,
    };
  }
}

const FOR = "x-forwarded-for", PROTO = "x-forwarded-proto", HOST = "x-forwarded-host";

/** Bytes of a field's value with the white space around it; -1 for field -1. */
function sizeOf(head: RequestHead, field: number): number {
  return field < 0 ? -1 : head.valueEnd(field) - head.nameEnd(field) - 1;
}

/** Hashes a field's value into `hash` (FNV-1a). */
function hashValue(head: RequestHead, field: number, hash: number): number {
  if (field < 0) return hash;
  const { bytes } = head, end = head.valueEnd(field);
  for (let at = head.nameEnd(field) + 1; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  // The low bits choose the slot; this lets the high ones take part.
  return hash ^ (hash >>> 15);
}

/** Whether a field's value is the part of `kept` that begins at `from`. A missing field matches. */
function isSame(head: RequestHead, field: number, kept: Uint8Array, from: number): boolean {
  if (field < 0) return true;
  const { bytes } = head, start = head.nameEnd(field) + 1, size = head.valueEnd(field) - start;
  for (let index = 0; index < size; index++) if (bytes[start + index] !== kept[from + index]) return false;
  return true;
}

/**
 * Finds the visitor in a list of hops. Each proxy appends its peer, so reading starts at the end and stops at the first
 * address that is not a trusted proxy. It also stops at a malformed hop, because the visitor may have sent what precedes.
 */
function findVisitor(peer: string, list: string, isTrusted: (address: string) => boolean): string {
  let visitor = peer;
  for (let end = list.length; end >= 0;) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1);
    const address = parseHop(list.slice(comma + 1, end).trim());
    if (address === null) break;
    visitor = address;
    if (!isTrusted(address)) break;
    end = comma;
  }
  return visitor;
}

/** Returns the address of a hop, which some proxies write with its port, or null. */
function parseHop(hop: string): string | null {
  const text = /^\[(.*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : null;
}

/**
 * What one visitor has for itself, to count by: an IPv4 address, or the /64 network of an IPv6 address, whose owner can
 * take any address in it.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : parsed.toNormalizedString().split(":", 4).join(":") + "::/64";
}
