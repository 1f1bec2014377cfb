import type { CookieJar } from "tough-cookie";
import { hasHeader, type HeaderList } from "./describe/description.ts";
import type { HopAnswer } from "./upstream.ts";

/** Set-Cookie fields of one hop that count, and bytes of each: as many as browsers are asked to take (RFC 6265, 6.1). */
const MAX_COOKIES = 50;
const MAX_COOKIE_BYTES = 4096;

/** The Set-Cookie fields of an answer, as they were sent. */
export function readSetCookie({ headers }: HopAnswer): string[] {
  return headers.filter(([name, value]) => isSetCookie(name) && value.length <= MAX_COOKIE_BYTES)
    .map(([, value]) => value).slice(0, MAX_COOKIES);
}

const isSetCookie = (name: string): boolean => name.length === 10 && name.toLowerCase() === "set-cookie";

/**
 * The cookies that redirects of one request have set, which go with its later hops where domain, path and Secure allow
 * it. They are forgotten with the request. The library knows the rules and the domains that are nobody's own; it is
 * loaded with the first cookie, as most requests meet none.
 */
export class RequestCookies {
  #jar: CookieJar | null = null;

  /** Keeps what an answer from `url` has set; what may not be set is passed over. */
  async keep(url: URL, fields: readonly string[]): Promise<void> {
    if (fields.length === 0) return;
    this.#jar ??= await createJar();
    for (const field of fields) await this.#jar.setCookie(field, url.href, { ignoreError: true });
  }

  /** The headers with the cookies for `url` in their Cookie: a kept one takes the place of a given one of its name. */
  async addTo(headers: HeaderList, url: URL): Promise<HeaderList> {
    const kept = await this.#jar?.getCookies(url.href) ?? [];
    if (kept.length === 0) return headers;
    const names = new Set(kept.map(({ key }) => key));
    const given = headers.filter(([name]) => isCookie(name)).flatMap(([, value]) => value.split(/;\s*/))
      .filter((pair) => pair !== "" && !names.has(pair.split("=", 1)[0].trim()));
    const cookie: [string, string] = ["Cookie", [...given, ...kept.map((one) => one.cookieString())].join("; ")];
    return hasHeader(headers, "cookie")
      ? [...headers.filter(([name]) => !isCookie(name)), cookie]
      : [...headers, cookie];
  }
}

const isCookie = (name: string): boolean => name.length === 6 && name.toLowerCase() === "cookie";

async function createJar(): Promise<CookieJar> {
  const { CookieJar } = await import("tough-cookie");
  // Hosts on a network of one's own have names that are no public suffix's: those may set cookies as well.
  return new CookieJar(undefined, { prefixSecurity: "silent", allowSpecialUseDomain: true, allowSecureOnLocal: false });
}
