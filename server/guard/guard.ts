import { bareHostname } from "../../common/bare_hostname.ts";
import { isIP } from "node:net";
import { HttpError } from "../../common/http_error.ts";
import { portOf } from "../../common/url_port.ts";
import { isPublicAddress } from "./addresses.ts";
import { type AllowList, parseAllowList } from "./allow_list.ts";
import type { OwnAddressCheck } from "./own_addresses.ts";
import { isBadPort } from "./ports.ts";
import { resolveBySystem, type Resolver } from "./resolve.ts";

/** The guard's exceptions, and its checks for this server's own addresses. */
export interface GuardOptions {
  /** Allowed host names, addresses and CIDR ranges that are not public. */
  allow?: readonly string[];
  /** The option with this list; `--proxy-allow` if left out. */
  allowOption?: string;
  /** Whether a host name and port belong to this server. */
  isOwnHost?: (hostname: string, port: number) => boolean;
  /** Whether an address belongs to this server, for any host name. */
  isOwnAddress?: OwnAddressCheck;
  resolver?: Resolver;
}

const MAX_REMEMBERED = 1000;

/**
 * Decides which targets a caller may reach through this server. {@link checkUrl} checks the URL, on the first hop and on
 * each redirect. {@link resolve} checks the addresses before the dialer connects.
 */
export class Guard {
  readonly #allowed: AllowList;
  readonly #allowOption: string;
  readonly #isOwnHost: (hostname: string, port: number) => boolean;
  readonly #isOwnAddress: OwnAddressCheck;
  readonly #resolver: Resolver;
  /** Origins that passed. The verdict cannot change, and most requests repeat an origin. */
  readonly #passed = new Set<string>();

  /** @throws SyntaxError for a malformed entry in `allow` */
  constructor(options: GuardOptions = {}) {
    this.#allowed = parseAllowList(options.allow ?? []);
    this.#allowOption = options.allowOption ?? "--proxy-allow";
    this.#isOwnHost = options.isOwnHost ?? (() => false);
    this.#isOwnAddress = options.isOwnAddress ?? (() => false);
    this.#resolver = options.resolver ?? resolveBySystem;
  }

  /** Checks a URL. @throws HttpError 400 `url_invalid`, 403 `own_host_forbidden`, `port_forbidden` or `address_forbidden`. */
  checkUrl(url: URL): void {
    if (url.username !== "" || url.password !== "") {
      throw new HttpError(400, "url_invalid", "The URL has a user name or password: send them as auth instead.");
    }
    const key = `${url.protocol}${url.host}`;
    if (this.#passed.has(key)) return;
    this.#checkOrigin(url);
    if (this.#passed.size >= MAX_REMEMBERED) this.#passed.clear();
    this.#passed.add(key);
  }

  /**
   * Returns the addresses for a URL's host. The caller must dial only these.
   * @throws HttpError 403 `own_host_forbidden` or `address_forbidden` if any address is forbidden, 502 `host_not_found`
   */
  async resolve(url: URL): Promise<string[]> {
    const hostname = bareHostname(url.hostname);
    const port = portOf(url);
    const addresses = isIP(hostname) === 0 ? await lookUp(hostname, this.#resolver) : [hostname];
    for (const address of addresses) if (await this.#isOwnAddress(address, port)) throw ownHostForbidden(url);
    // One forbidden address refuses the name, because attackers mix it with public ones.
    const may = this.#allowed.allowsHost(hostname) || addresses.every((address) => this.#mayDial(address));
    if (may) return addresses;
    throw this.#addressForbidden(hostname);
  }

  #checkOrigin(url: URL): void {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new HttpError(400, "url_invalid", `Only http and https URLs are supported, not "${url.protocol}".`);
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
  return new HttpError(502, "host_not_found", `Cannot resolve the name "${hostname}".`, { cause });
}

function ownHostForbidden({ host }: URL): HttpError {
  return new HttpError(403, "own_host_forbidden", `"${host}" is this server itself.`);
}
