import { type AddressRange, isAddressIn, parseAddressRange } from "./addresses.ts";

/** What may be reached although it is not public. */
export interface AllowList {
  /** By name: whatever that name resolves to may be dialled, whichever port. */
  allowsHost(hostname: string): boolean;
  /** By number, whatever name led there. */
  allowsAddress(address: string): boolean;
}

const HOST_NAME = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/**
 * Reads host names (`nas.lan`, `*.lan` for all below), addresses and CIDR ranges.
 * @throws SyntaxError naming the entry that is none of them.
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  const ranges: AddressRange[] = [];
  const hosts = new Set<string>();
  const suffixes: string[] = [];
  for (const entry of entries) {
    const text = entry.toLowerCase();
    if (/^[\d./]+$/.test(text) || text.includes(":")) ranges.push(parseAddressRange(text.replace(/^\[(.*)\]$/, "$1")));
    else if (!HOST_NAME.test(text)) throw new SyntaxError(`"${entry}" is no host name, IP address or CIDR range`);
    else if (text.startsWith("*.")) suffixes.push(text.slice(1));
    else hosts.add(text);
  }
  return {
    allowsHost: (hostname) => hosts.has(hostname) || suffixes.some((suffix) => hostname.endsWith(suffix)),
    allowsAddress: (address) => isAddressIn(address, ranges),
  };
}
