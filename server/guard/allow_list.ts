import { type AddressRange, isAddressIn, parseAddressRange } from "./addresses.ts";

/** The allowed hosts that are not public. */
export interface AllowList {
  /** Host names, which allow all their addresses and ports. */
  allowsHost(hostname: string): boolean;
  /** Address ranges, which allow any host name. */
  allowsAddress(address: string): boolean;
}

const HOST_NAME = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/**
 * Parses host names (`nas.lan`, or `*.lan` for all names below it), addresses and CIDR ranges.
 * @throws SyntaxError with the malformed entry
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
