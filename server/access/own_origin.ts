import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/**
 * Whether a request with the cookie of a browser's session may come from a page of any origin: it changes nothing, and
 * that page cannot read the answer.
 */
export function isHarmless(exchange: Pick<Exchange, "method" | "upgrade" | "header">): boolean {
  const { method, upgrade } = exchange;
  // A page of any origin may open a WebSocket, and reads what comes over it. Whoever sends `Origin` wants to read.
  return (method === "GET" || method === "HEAD") && upgrade === null && exchange.header("origin") === null;
}

/**
 * Lets through a request that a browser made for a page of `origin`. Cookies say nothing of that: a tunnel's host is a
 * sibling of HQ's, whose pages send HQ's cookie along.
 * @throws HttpError 403 `foreign_origin`
 */
export function requireOwnOrigin(exchange: Pick<Exchange, "header" | "host">, origin: string): void {
  const from = exchange.header("origin");
  const site = exchange.header("sec-fetch-site");
  // A page that hides where it comes from, by its referrer policy, says so with "null".
  const isOwn = from === origin || ((from === null || from === "null") && site === "same-origin");
  if (isOwn && (site === null || site === "same-origin")) return;
  if (from !== null && from !== origin && isSamePlace(from, exchange.host)) throw otherAddress(from, origin);
  throw new HttpError(403, "foreign_origin", "This request does not come from a page of this server.", {
    details: "Open the page again and repeat it there.",
  });
}

/** Whether the page lies where its request went: then nobody else's page sent it, but the server is called otherwise. */
function isSamePlace(from: string, host: string): boolean {
  return URL.parse(from)?.host === host.toLowerCase();
}

const otherAddress = (from: string, origin: string): HttpError =>
  new HttpError(403, "foreign_origin", `This page was opened at ${from}, and this server is ${origin}.`, {
    details:
      `Open ${origin} instead. If ${from} is right, the operator starts the server with --url ${from}, or with ` +
      "--hq-url when the site alone is there.",
  });
