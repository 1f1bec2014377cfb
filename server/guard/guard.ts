import { isIP } from "node:net";
import { HttpError } from "../../common/http_error.ts";
import { isPublicAddress } from "./addresses.ts";
import { parseAllowList } from "./allow_list.ts";
import type { OwnAddressCheck } from "./own_addresses.ts";
import { isBadPort } from "./ports.ts";
import { resolveBySystem, type Resolver } from "./resolve.ts";

/**
 * Decides where requests that this server makes for others may go. Two checks make one: {@link checkUrl} for what
 * the URL says, on the first hop and on each redirect, and {@link resolve} for the addresses that are then dialled.
 */
export interface Guard {
  /** @throws HttpError 400 `url_invalid`, 403 `own_host_forbidden`, `port_forbidden` or `address_forbidden`. */
  checkUrl(url: URL): void;
  /**
   * The addresses that may be dialled for a URL's host; dial these and nothing else.
   * @throws HttpError 403 `own_host_forbidden` or `address_forbidden` when any of them may not be, 502 `host_not_found`.
   */
  resolve(url: URL): Promise<string[]>;
}

export interface GuardOptions {
  /** Host names, addresses and CIDR ranges that may be reached although they are not public. */
  allow?: readonly string[];
  /** Whether a host and port are served by this very server, as far as the name tells. */
  isOwnHost?: (hostname: string, port: number) => boolean;
  /** The same for an address that is about to be dialled, whatever name led there. */
  isOwnAddress?: OwnAddressCheck;
  resolver?: Resolver;
}

const MAX_REMEMBERED = 1000;

/**
 * Creates the guard.
 * @throws SyntaxError for an entry of `allow` that cannot be read.
 */
export function createGuard(options: GuardOptions = {}): Guard {
  const { isOwnHost = () => false, isOwnAddress = () => false, resolver = resolveBySystem } = options;
  const allowed = parseAllowList(options.allow ?? []);
  const mayDial = (address: string) => isPublicAddress(address) || allowed.allowsAddress(address);

  // What a URL's origin says does not change, and most requests go where others went before.
  const passed = new Set<string>();

  function checkUrl(url: URL): void {
    if (url.username !== "" || url.password !== "") {
      throw new HttpError(400, "url_invalid", "The URL carries a user name or password: give them as auth instead.");
    }
    const key = `${url.protocol}${url.host}`;
    if (passed.has(key)) return;
    checkOrigin(url);
    if (passed.size >= MAX_REMEMBERED) passed.clear();
    passed.add(key);
  }

  function checkOrigin(url: URL): void {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new HttpError(400, "url_invalid", `Only http and https URLs can be requested, not "${url.protocol}".`);
    }
    const hostname = bareHostname(url.hostname);
    const port = portOf(url);
    if (isOwnHost(hostname, port)) throw ownHostForbidden(url);
    if (allowed.allowsHost(hostname)) return;
    if (isIP(hostname) !== 0 && !mayDial(hostname)) throw addressForbidden(hostname);
    if ((isBadPort(port) || url.port === "0") && !allowed.allowsAddress(hostname)) {
      throw new HttpError(403, "port_forbidden", `Port ${url.port} belongs to a protocol other than HTTP.`);
    }
  }

  async function resolve(url: URL): Promise<string[]> {
    const hostname = bareHostname(url.hostname);
    const port = portOf(url);
    const addresses = isIP(hostname) === 0 ? await lookUp(hostname, resolver) : [hostname];
    for (const address of addresses) if (await isOwnAddress(address, port)) throw ownHostForbidden(url);
    // One forbidden address refuses the name: whoever mixes them is after the forbidden one.
    if (allowed.allowsHost(hostname) || addresses.every(mayDial)) return addresses;
    throw addressForbidden(hostname);
  }

  return { checkUrl, resolve };
}

/** A host name as names are compared: lower case, no brackets around an IPv6 address, no dot of the root. */
export function bareHostname(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/** The port that a URL's host is asked at. */
export function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}

async function lookUp(hostname: string, resolver: Resolver): Promise<string[]> {
  try {
    const addresses = await resolver(hostname);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw hostNotFound(hostname, cause);
  }
  throw hostNotFound(hostname, undefined);
}

function hostNotFound(hostname: string, cause: unknown): HttpError {
  return new HttpError(502, "host_not_found", `The name "${hostname}" cannot be resolved.`, { cause });
}

function ownHostForbidden({ host }: URL): HttpError {
  return new HttpError(403, "own_host_forbidden", `"${host}" is served by this server itself.`);
}

function addressForbidden(hostname: string): HttpError {
  return new HttpError(403, "address_forbidden", `"${hostname}" is not a public address.`, {
    details: "Whoever runs this server can allow hosts and networks with --proxy-allow.",
  });
}
