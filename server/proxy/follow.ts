import { HttpError } from "../../common/http_error.ts";
import type { Guard } from "../guard/mod.ts";
import type { Ending } from "../../common/upstream/mod.ts";
import { readSetCookie, RequestCookies } from "./cookies.ts";
import type { HeaderList, RequestDescription } from "./describe/description.ts";
import { viaEntry } from "./gate.ts";
import { headersAfterRedirect } from "./outgoing_headers.ts";
import type { HopAnswer, Upstream, UpstreamRequest } from "./upstream.ts";

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
export interface FollowedAnswer {
  answer: HopAnswer;
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
export async function sendFollowing(sender: Sender, first: FirstHop): Promise<FollowedAnswer> {
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

function readRedirect(answer: HopAnswer, url: URL): URL | null {
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
