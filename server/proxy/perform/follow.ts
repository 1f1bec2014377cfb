import { HttpError } from "../../../common/http_error.ts";
import type { Guard } from "../../guard/mod.ts";
import type { Ending } from "../../../net/upstream/mod.ts";
import { hasHeader, type HeaderList, type RequestDescription } from "../describe/description.ts";
import { viaEntry } from "../gate.ts";
import { headersAfterRedirect } from "./outgoing_headers.ts";
import type { HopResponse, Upstream, UpstreamRequest } from "./upstream.ts";
import type { CookieJar } from "tough-cookie";

/** A redirect that was followed. */
export interface RedirectHop {
  status: number;
  /** Where the hop led from. */
  url: string;
  /** Where it led to. */
  location: string;
  /** Its Set-Cookie fields, as they were sent. */
  setCookie: string[];
}

/** The last answer of a chain of redirects; its body has not been read. URLs are absolute, times in milliseconds. */
export interface FollowedResponse {
  answer: HopResponse;
  finalUrl: string;
  redirects: RedirectHop[];
  /** Sums over all hops, and the time until the last one's head. */
  dnsMs: number;
  connectMs: number;
  firstByteMs: number;
}

/** What a request is sent with; the URL and the headers change from hop to hop. */
export type FirstHop = Pick<RequestDescription, "method" | "url" | "redirect" | "maxRedirects" | "skipTlsVerify"> & {
  headers: HeaderList;
  /** What Via has before this server's own entry, with its comma, or "". */
  via: string;
  body: UpstreamRequest["body"];
  ending: Ending;
};

/** What sends a hop, after the guard has let its URL pass. */
export interface Sender {
  upstream: Upstream;
  guard: Guard;
  /** What this server calls itself in Via. */
  viaToken: string;
}

/**
 * Sends a request and follows redirects as far as it allows, each checked by the guard like the first.
 * @throws HttpError of the guard or the upstream; 502 `too_many_redirects`, `redirect_refused` (`redirect: "error"`)
 * or `redirect_not_repeatable` (a streamed body cannot be sent twice).
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
    const answer = await upstream.send({ method, url, headers: sent, body, ending, skipTlsVerify });
    dnsMs += answer.dnsMs;
    connectMs += answer.connectMs;
    const next = first.redirect === "manual" ? null : readRedirect(answer, url);
    if (next === null) {
      const firstByteMs = performance.now() - startedAt;
      return { answer, finalUrl: url.href, redirects, dnsMs, connectMs, firstByteMs };
    }
    answer.body.cancel();
    if (first.redirect === "error") throw redirectError("redirect_refused", "The upstream answered with a redirect.");
    if (redirects.length >= first.maxRedirects) {
      throw redirectError("too_many_redirects", `The upstream redirected more than ${first.maxRedirects} times.`);
    }
    const dropsBody = turnsIntoGet(answer.status, method);
    if (!dropsBody && isOneWay(body)) {
      throw redirectError("redirect_not_repeatable", "The upstream redirected an upload that cannot be sent twice.");
    }
    const setCookie = readSetCookie(answer);
    await cookies.keep(url, setCookie);
    redirects.push({ status: answer.status, url: url.href, location: next.href, setCookie });
    headers = headersAfterRedirect(headers, { crossOrigin: next.origin !== url.origin, dropsBody });
    if (dropsBody) [method, body] = ["GET", null];
    url = next;
  }
}

function readRedirect(answer: HopResponse, url: URL): URL | null {
  if (![301, 302, 303, 307, 308].includes(answer.status)) return null;
  const location = answer.headers.find(([name]) => name.toLowerCase() === "location")?.[1];
  const next = location === undefined ? null : URL.parse(encodeBytes(location), url);
  if (next !== null) next.hash = "";
  return next;
}

/** Servers write what is beyond ASCII as it is, mostly in UTF-8: a URL stands for the very bytes. */
function encodeBytes(latin1: string): string {
  return latin1.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** As browsers do: https://fetch.spec.whatwg.org/#http-redirect-fetch, step 12. */
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

/** Set-Cookie fields of one hop that count, and bytes of each: as many as browsers are asked to take (RFC 6265, 6.1). */
const MAX_COOKIES = 50;
const MAX_COOKIE_BYTES = 4096;

/** The Set-Cookie fields of an answer, as they were sent. */
function readSetCookie({ headers }: HopResponse): string[] {
  return headers.filter(([name, value]) => isSetCookie(name) && value.length <= MAX_COOKIE_BYTES)
    .map(([, value]) => value).slice(0, MAX_COOKIES);
}

const isSetCookie = (name: string): boolean => name.length === 10 && name.toLowerCase() === "set-cookie";

/**
 * The cookies that redirects of one request have set, which go with its later hops where domain, path and Secure allow
 * it. They are forgotten with the request. The library knows the rules and the domains that are nobody's own; it is
 * loaded with the first cookie, as most requests meet none.
 */
class RequestCookies {
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
