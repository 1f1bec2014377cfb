import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/**
 * Whether a request with a session cookie may come from a page on any origin. Such a request changes no data, and the
 * page cannot read the response.
 */
export function isHarmless(exchange: Pick<Exchange, "method" | "upgrade" | "header">): boolean {
  const { method, upgrade } = exchange;
  // Pages on any origin may open a WebSocket and read from it. A page that sends `Origin` wants to read the response.
  return (method === "GET" || method === "HEAD") && upgrade === null && exchange.header("origin") === null;
}

/**
 * Accepts a request from a page on `origin`. Cookies do not prove that: tunnels are sibling hosts of HQ, and browsers
 * send HQ's cookie with requests from their pages.
 * @throws HttpError 403 `foreign_origin`
 */
export function requireOwnOrigin(exchange: Pick<Exchange, "header" | "host">, origin: string): void {
  const from = exchange.header("origin");
  const site = exchange.header("sec-fetch-site");
  // "null" means that the page's referrer policy hides its origin.
  const isOwn = from === origin || ((from === null || from === "null") && site === "same-origin");
  if (isOwn && (site === null || site === "same-origin")) return;
  if (from !== null && from !== origin && isSameHost(from, exchange.host)) throw otherAddress(from, origin);
  throw new HttpError(403, "foreign_origin", "This request does not come from a page of this server.", {
    details: "Open the page again and repeat it there.",
  });
}

/**
 * Whether a request went to its page's own host. Then the page is genuine, but was opened at an address other than the
 * configured one.
 */
function isSameHost(from: string, host: string): boolean {
  return URL.parse(from)?.host === host.toLowerCase();
}

const otherAddress = (from: string, origin: string): HttpError =>
  new HttpError(403, "foreign_origin", `This page was opened at ${from}, and this server is ${origin}.`, {
    details:
      `Open ${origin} instead. If ${from} is right, the operator starts the server with --url ${from}, or with ` +
      "--hq-url when the site alone is there.",
  });
