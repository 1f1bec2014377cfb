import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";

/**
 * Refuses what another site's page makes a browser send. Cookies that are SameSite=Lax stay away from other sites, but
 * tunnels may be on the same site as HQ, so the page that a request comes from has to be of HQ's own origin.
 * @throws HttpError 403
 */
export function checkSameOrigin(exchange: Exchange, { origin }: URL): void {
  if (exchange.method === "GET" || exchange.method === "HEAD") return;
  const sender = exchange.header("origin");
  if (sender === origin) return;
  // Browsers send Origin with every POST; one that does not still says whose page it was.
  if (sender === null && exchange.header("sec-fetch-site") === "same-origin") return;
  throw new HttpError(403, "foreign_origin", "This form was sent from another site.", {
    details: `Open ${origin} and send it from there. A server that is reached at another address needs --url.`,
  });
}

/** Host of a Host header without its port, in lower case. */
export function isHostOf(host: string, { hostname }: URL): boolean {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase() === hostname;
}
