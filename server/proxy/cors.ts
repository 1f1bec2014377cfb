import type { Exchange } from "../../common/listener/mod.ts";
import { HttpError } from "../../common/http_error.ts";
import { EXPOSE_HEADERS } from "./answer.ts";

/** Answers what browsers ask about pages of other origins (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export interface Cors {
  /** The answer to a preflight, or null when this is none. */
  preflight(exchange: Exchange): Response | null;
  /** What makes an answer readable for the page that asked, if it may read it. */
  headers(exchange: Exchange): readonly [string, string][];
  /** Marks an answer as readable for the page that asked, if it may read it. */
  mark(exchange: Exchange, response: Response): Response;
  /** {@link preflight} and {@link mark} around whatever answers. */
  wrap(exchange: Exchange, respond: () => Response | Promise<Response>): Promise<Response>;
  /** @throws HttpError 403 `origin_forbidden` when a page of an origin that is not allowed asks. */
  check(exchange: Exchange): void;
}

export interface CorsOptions {
  /** Origins in lower case such as `https://app.example`, `null` among them for pages without one, or `*` for all. */
  origins: readonly string[];
  /** The origin that a request was made to, as its Host says. */
  requestOrigin: (exchange: Exchange) => string;
  /**
   * Whether an origin can only be this server, whose own pages may always ask. A Host alone does not tell: whoever owns
   * a name can have it lead here once their page is open.
   */
  isOwnOrigin: (origin: string) => boolean;
}

const PREFLIGHT_SECONDS = 7200;
const METHODS = "GET, HEAD, POST, OPTIONS";
const allowOrigin = (origin: string): [string, string] => ["access-control-allow-origin", origin];

export function createCors(options: CorsOptions): Cors {
  const any = options.origins.includes("*");
  const listed = new Set(options.origins);
  const isAllowed = (exchange: Exchange, origin: string) =>
    any || listed.has(origin.toLowerCase()) ||
    origin === options.requestOrigin(exchange) && options.isOwnOrigin(origin);

  // Without an Origin there is no page to tell; `*` is said all the same, for caches that serve several.
  const forAny: readonly [string, string][] = [allowOrigin("*")];

  function headers(exchange: Exchange): readonly [string, string][] {
    if (any) return forAny;
    const origin = exchange.header("origin");
    const vary: [string, string] = ["vary", "Origin"];
    return origin !== null && isAllowed(exchange, origin) ? [vary, allowOrigin(origin)] : [vary];
  }

  function mark(exchange: Exchange, response: Response): Response {
    for (const [name, value] of [...headers(exchange), EXPOSE_HEADERS]) response.headers.append(name, value);
    return response;
  }

  function preflight(exchange: Exchange): Response | null {
    if (exchange.method !== "OPTIONS") return null;
    const headers = new Headers({
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": exchange.header("access-control-request-headers") ??
        "authorization, content-type, multipart-part-key",
      "access-control-max-age": String(PREFLIGHT_SECONDS),
      "allow": METHODS,
    });
    // A page of the Internet that asks for a proxy on the visitor's own machine (Private Network Access).
    if (exchange.header("access-control-request-private-network") === "true") {
      headers.set("access-control-allow-private-network", "true");
    }
    const origin = exchange.header("origin");
    const may = origin === null || isAllowed(exchange, origin);
    return may ? mark(exchange, new Response(null, { status: 204, headers })) : new Response(null, { status: 403 });
  }

  async function wrap(exchange: Exchange, respond: () => Response | Promise<Response>): Promise<Response> {
    return preflight(exchange) ?? mark(exchange, await respond());
  }

  function check(exchange: Exchange): void {
    if (any) return;
    const origin = exchange.header("origin") ?? silentOrigin(exchange);
    if (origin === null || isAllowed(exchange, origin)) return;
    throw new HttpError(403, "origin_forbidden", "Pages of this origin may not use this proxy.", {
      details: "Whoever runs this server can allow origins with --proxy-origins, and name its own with --url.",
    });
  }

  /** Pages that read from where they came from do not say so: any request to read may be one of theirs. */
  function silentOrigin(exchange: Exchange): string | null {
    return exchange.method === "GET" || exchange.method === "HEAD" ? options.requestOrigin(exchange) : null;
  }

  return { preflight, headers, mark, wrap, check };
}
