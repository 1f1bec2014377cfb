import { bareHostname } from "../../common/bare_hostname.ts";
import { isIP } from "node:net";
import { HttpError } from "../../common/http_error.ts";
import { portOf } from "../../common/url_port.ts";
import { isPublicAddress } from "./addresses.ts";
import { type AllowList, parseAllowList } from "./allow_list.ts";
import type { OwnAddressCheck } from "./own_addresses.ts";
import { isBadPort } from "./ports.ts";
import { resolveBySystem, type Resolver } from "./resolve.ts";

/** What the guard lets through although it would not, and how it knows this server. */
export interface GuardOptions {
  /** Host names, addresses and CIDR ranges that may be reached although they are not public. */
  allow?: readonly string[];
  /** The option that they are given by; `--proxy-allow` when left out. */
  allowOption?: string;
  /** Whether a host and port are served by this very server, as far as the name tells. */
  isOwnHost?: (hostname: string, port: number) => boolean;
  /** The same for an address that is about to be dialled, whatever name led there. */
  isOwnAddress?: OwnAddressCheck;
  resolver?: Resolver;
}

const MAX_REMEMBERED = 1000;

/**
 * Decides where requests that this server makes for others may go. Two checks make one: {@link checkUrl} for what
 * the URL says, on the first hop and on each redirect, and {@link resolve} for the addresses that are then dialled.
 */
export class Guard {
  readonly #allowed: AllowList;
  readonly #allowOption: string;
  readonly #isOwnHost: (hostname: string, port: number) => boolean;
  readonly #isOwnAddress: OwnAddressCheck;
  readonly #resolver: Resolver;
  /** What a URL's origin says does not change, and most requests go where others went before. */
  readonly #passed = new Set<string>();

  /** @throws SyntaxError for an entry of `allow` that cannot be read. */
  constructor(options: GuardOptions = {}) {
    this.#allowed = parseAllowList(options.allow ?? []);
    this.#allowOption = options.allowOption ?? "--proxy-allow";
    this.#isOwnHost = options.isOwnHost ?? (() => false);
    this.#isOwnAddress = options.isOwnAddress ?? (() => false);
    this.#resolver = options.resolver ?? resolveBySystem;
  }

  /** @throws HttpError 400 `url_invalid`, 403 `own_host_forbidden`, `port_forbidden` or `address_forbidden`. */
  checkUrl(url: URL): void {
    if (url.username !== "" || url.password !== "") {
      throw new HttpError(400, "url_invalid", "The URL carries a user name or password: give them as auth instead.");
    }
    const key = `${url.protocol}${url.host}`;
    if (this.#passed.has(key)) return;
    this.#checkOrigin(url);
    if (this.#passed.size >= MAX_REMEMBERED) this.#passed.clear();
    this.#passed.add(key);
  }

  /**
   * The addresses that may be dialled for a URL's host; dial these and nothing else.
   * @throws HttpError 403 `own_host_forbidden` or `address_forbidden` when any of them may not be, 502 `host_not_found`.
   */
  async resolve(url: URL): Promise<string[]> {
    const hostname = bareHostname(url.hostname);
    const port = portOf(url);
    const addresses = isIP(hostname) === 0 ? await lookUp(hostname, this.#resolver) : [hostname];
    for (const address of addresses) if (await this.#isOwnAddress(address, port)) throw ownHostForbidden(url);
    // One forbidden address refuses the name: whoever mixes them is after the forbidden one.
    const may = this.#allowed.allowsHost(hostname) || addresses.every((address) => this.#mayDial(address));
    if (may) return addresses;
    throw this.#addressForbidden(hostname);
  }

  #checkOrigin(url: URL): void {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new HttpError(400, "url_invalid", `Only http and https URLs can be requested, not "${url.protocol}".`);
    }
    const hostname = bareHostname(url.hostname);
    const port = portOf(url);
    if (this.#isOwnHost(hostname, port)) throw ownHostForbidden(url);
    if (this.#allowed.allowsHost(hostname)) return;
    if (isIP(hostname) !== 0 && !this.#mayDial(hostname)) throw this.#addressForbidden(hostname);
    if ((isBadPort(port) || url.port === "0") && !this.#allowed.allowsAddress(hostname)) {
      throw new HttpError(403, "port_forbidden", `Port ${url.port} belongs to a protocol other than HTTP.`);
    }
  }

  #mayDial(address: string): boolean {
    return isPublicAddress(address) || this.#allowed.allowsAddress(address);
  }

  #addressForbidden(hostname: string): HttpError {
    return new HttpError(403, "address_forbidden", `"${hostname}" is not a public address.`, {
      details: `Whoever runs this server can allow hosts and networks with ${this.#allowOption}.`,
    });
  }
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
