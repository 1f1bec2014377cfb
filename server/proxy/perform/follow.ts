import { HttpError } from "../../../common/http_error.ts";
import type { Guard } from "../../guard/mod.ts";
import type { Ending } from "../../../net/upstream/mod.ts";
import { hasHeader, type HeaderList, type RequestDescription } from "../describe/description.ts";
import { viaEntry } from "../gate.ts";
import { headersAfterRedirect } from "./outgoing_headers.ts";
import type { HopResponse, Upstream, UpstreamRequest } from "./upstream.ts";
import type { CookieJar } from "tough-cookie";

/** A followed redirect. */
export interface RedirectHop {
  status: number;
  /** The URL that redirected. */
  url: string;
  /** The redirect's target. */
  location: string;
  /** The response's Set-Cookie fields, unchanged. */
  setCookie: string[];
}

/** The last response after all redirects, with its body unread. URLs are absolute, times in milliseconds. */
export interface FollowedResponse {
  response: HopResponse;
  finalUrl: string;
  redirects: RedirectHop[];
  /** Sums over all hops, and the time until the last response head. */
  dnsMs: number;
  connectMs: number;
  firstByteMs: number;
}

/** The first request. URL and headers change with each hop. */
export type FirstHop = Pick<RequestDescription, "method" | "url" | "redirect" | "maxRedirects" | "skipTlsVerify"> & {
  headers: HeaderList;
  /** Earlier Via entries with a comma, or "". */
  via: string;
  body: UpstreamRequest["body"];
  ending: Ending;
};

/** Sends a hop whose URL passed the guard. */
export interface Sender {
  upstream: Upstream;
  guard: Guard;
  /** This server's name in Via. */
  viaToken: string;
}

/**
 * Sends a request and follows its redirects. The guard checks each hop like the first.
 * @throws HttpError from the guard or the upstream; 502 `too_many_redirects`, `redirect_refused` (`redirect:
 * "error"`) or `redirect_not_repeatable` (a streamed body cannot be sent twice).
 */
export async function sendFollowing(sender: Sender, first: FirstHop): Promise<FollowedResponse> {
  const { upstream, guard, viaToken } = sender;
  const { ending, skipTlsVerify } = first;
  const startedAt = performance.now();
  const redirects: RedirectHop[] = [];
  const cookies = new RequestCookies();
  let { method, url, headers, body } = first;
  let dnsMs = 0;
  let connectMs = 0;
  while (true) {
    guard.checkUrl(url);
    const sent: HeaderList = redirects.length > 0 ? await cookies.addTo(headers, url) : [...headers];
    sent.push(["Via", first.via + viaEntry(viaToken, url.host)]);
    const response = await upstream.send({ method, url, headers: sent, body, ending, skipTlsVerify });
    dnsMs += response.dnsMs;
    connectMs += response.connectMs;
    const next = first.redirect === "manual" ? null : readRedirect(response, url);
    if (next === null) {
      const firstByteMs = performance.now() - startedAt;
      return { response, finalUrl: url.href, redirects, dnsMs, connectMs, firstByteMs };
    }
    response.body.cancel();
    if (first.redirect === "error") throw redirectError("redirect_refused", "The upstream responded with a redirect.");
    if (redirects.length >= first.maxRedirects) {
      throw redirectError("too_many_redirects", `The upstream redirected more than ${first.maxRedirects} times.`);
    }
    const dropsBody = turnsIntoGet(response.status, method);
    if (!dropsBody && isOneWay(body)) {
      throw redirectError("redirect_not_repeatable", "The upstream redirected an upload that cannot be sent twice.");
    }
    const setCookie = readSetCookie(response);
    await cookies.keep(url, setCookie);
    redirects.push({ status: response.status, url: url.href, location: next.href, setCookie });
    headers = headersAfterRedirect(headers, { crossOrigin: next.origin !== url.origin, dropsBody });
    if (dropsBody) [method, body] = ["GET", null];
    url = next;
  }
}

function readRedirect(response: HopResponse, url: URL): URL | null {
  if (![301, 302, 303, 307, 308].includes(response.status)) return null;
  const location = response.headers.find(([name]) => name.toLowerCase() === "location")?.[1];
  const next = location === undefined ? null : URL.parse(encodeBytes(location), url);
  if (next !== null) next.hash = "";
  return next;
}

/** Percent-encodes bytes beyond ASCII, which servers send raw, mostly in UTF-8. */
function encodeBytes(latin1: string): string {
  return latin1.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Follows https://fetch.spec.whatwg.org/#http-redirect-fetch, step 12, like browsers. */
function turnsIntoGet(status: number, method: string): boolean {
  return ((status === 301 || status === 302) && method === "POST") ||
    (status === 303 && method !== "GET" && method !== "HEAD");
}

function isOneWay(body: UpstreamRequest["body"]): boolean {
  return body !== null && !(body instanceof Uint8Array);
}

function redirectError(code: string, message: string): HttpError {
  return new HttpError(502, code, message);
}

/** Set-Cookie limits for one hop: the number and the bytes that browsers should accept (RFC 6265, section 6.1). */
const MAX_COOKIES = 50;
const MAX_COOKIE_BYTES = 4096;

/** Returns a response's Set-Cookie fields, unchanged. */
function readSetCookie({ headers }: HopResponse): string[] {
  return headers.filter(([name, value]) => isSetCookie(name) && value.length <= MAX_COOKIE_BYTES)
    .map(([, value]) => value).slice(0, MAX_COOKIES);
}

const isSetCookie = (name: string): boolean => name.length === 10 && name.toLowerCase() === "set-cookie";

/**
 * The cookies that redirects set during one request. Later hops get them where domain, path and Secure allow. The
 * library knows these rules and the public suffixes. It loads with the first cookie, because most requests have none.
 */
class RequestCookies {
  #jar: CookieJar | null = null;

  /** Stores a response's cookies. Forbidden ones are skipped. */
  async keep(url: URL, fields: readonly string[]): Promise<void> {
    if (fields.length === 0) return;
    this.#jar ??= await createJar();
    for (const field of fields) await this.#jar.setCookie(field, url.href, { ignoreError: true });
  }

  /** Returns the headers with the cookies for `url`. A stored cookie replaces a given one with its name. */
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
  // Hosts in private networks have names outside the public suffix list. They may set cookies too.
  return new CookieJar(undefined, { prefixSecurity: "silent", allowSpecialUseDomain: true, allowSecureOnLocal: false });
}
