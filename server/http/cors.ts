import type { Exchange } from "../../net/listener/mod.ts";
import { HttpError } from "../../common/http_error.ts";

/** The pages that may use the proxy and read some other responses. */
export interface CorsOptions {
  /** Origins in lower case, for instance `https://app.example`; `null` for pages without an origin; `*` for all. */
  origins: readonly string[];
  /** Returns the request's own origin, from its Host. */
  requestOrigin: (exchange: Exchange) => string;
  /**
   * Whether an origin can only be this server, whose own pages always have access. The Host alone is no proof, because an
   * attacker can point another name to this server after its page has loaded.
   */
  isOwnOrigin: (origin: string) => boolean;
}

/** Fields in streamed responses for the facts that buffered responses have in JSON. */
const STREAM_HEADERS = [
  "portway-status",
  "portway-status-text",
  "portway-final-url",
  "portway-headers",
  "portway-redirects",
  "portway-timings",
] as const;

/** Lets a page read Portway's own fields in a response. */
export const EXPOSE_HEADERS: [string, string] = [
  "access-control-expose-headers",
  [...STREAM_HEADERS, "portway-error", "retry-after", "etag", "content-range", "accept-ranges", "content-length"].join(
    ", ",
  ),
];

const PREFLIGHT_SECONDS = 7200;
/** The usual request fields. A preflight for other names allows them as requested. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const ALLOW_CREDENTIALS: [string, string] = ["access-control-allow-credentials", "true"];
const VARY: [string, string] = ["vary", "Origin"];
const allowOrigin = (origin: string): [string, string] => ["access-control-allow-origin", origin];
// A request without Origin needs no field, but caches may serve the response to pages, so `*` is always sent.
const FOR_ANY: readonly [string, string][] = [allowOrigin("*")];

/** The CORS protocol for this server (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export class Cors {
  readonly #any: boolean;
  readonly #listed: ReadonlySet<string>;
  readonly #options: CorsOptions;

  constructor(options: CorsOptions) {
    this.#options = options;
    this.#any = options.origins.includes("*");
    this.#listed = new Set(options.origins.filter((origin) => origin !== "*"));
  }

  /** Returns the fields that let the requesting page read a response, if it may. */
  headers(exchange: Exchange): readonly [string, string][] {
    if (this.#any && this.#listed.size === 0) return FOR_ANY;
    const origin = exchange.header("origin");
    if (origin === null || !this.#isAllowed(exchange, origin)) return this.#any ? [VARY, ...FOR_ANY] : [VARY];
    // Any site can create a page without an origin, so such pages get no credentials.
    if (this.#listed.has(origin.toLowerCase()) && origin !== "null") {
      return [VARY, allowOrigin(origin), ALLOW_CREDENTIALS];
    }
    return [VARY, allowOrigin(this.#any ? "*" : origin)];
  }

  /** Adds the fields that let the requesting page read a response, if it may. */
  mark(exchange: Exchange, response: Response): Response {
    for (const [name, value] of [...this.headers(exchange), EXPOSE_HEADERS]) response.headers.append(name, value);
    return response;
  }

  /** Returns the response to a preflight, or null for other requests. */
  preflight(exchange: Exchange): Response | null {
    if (exchange.method !== "OPTIONS") return null;
    const wanted = exchange.header("access-control-request-method");
    const methods = wanted === null || METHODS.split(", ").includes(wanted) ? METHODS : `${METHODS}, ${wanted}`;
    const headers = new Headers({
      "access-control-allow-methods": methods,
      "access-control-allow-headers": exchange.header("access-control-request-headers") ??
        "authorization, content-type, multipart-part-key, portway-token",
      "access-control-max-age": String(PREFLIGHT_SECONDS),
      "allow": METHODS,
    });
    // An Internet page requests a proxy on the visitor's machine (Private Network Access).
    if (exchange.header("access-control-request-private-network") === "true") {
      headers.set("access-control-allow-private-network", "true");
    }
    const origin = exchange.header("origin");
    const may = origin === null || this.#isAllowed(exchange, origin);
    return may
      ? this.mark(exchange, new Response(null, { status: 204, headers }))
      : new Response(null, { status: 403 });
  }

  /** Checks the page's origin. @throws HttpError 403 `origin_forbidden` for an origin that is not allowed */
  check(exchange: Exchange): void {
    if (this.#any) return;
    const origin = exchange.header("origin") ?? this.#silentOrigin(exchange);
    if (origin === null || this.#isAllowed(exchange, origin)) return;
    throw new HttpError(403, "origin_forbidden", "This page's origin may not use this proxy.", {
      details: "The operator can allow origins with --proxy-origins, and set this server's own origin with --url.",
    });
  }

  #isAllowed(exchange: Exchange, origin: string): boolean {
    return this.#any || this.#listed.has(origin.toLowerCase()) ||
      origin === this.#options.requestOrigin(exchange) && this.#options.isOwnOrigin(origin);
  }

  /**
   * Browsers send no Origin when a page reads from its own origin, so a read without it may come from such a page. For a
   * load such as an image, Sec-Fetch-Site reports another site and Referer usually names it.
   */
  #silentOrigin(exchange: Exchange): string | null {
    if (exchange.method !== "GET" && exchange.method !== "HEAD") return null;
    const isOther = /^(cross|same)-site$/.test(exchange.header("sec-fetch-site") ?? "");
    if (!isOther) return this.#options.requestOrigin(exchange);
    return URL.parse(exchange.header("referer") ?? "")?.origin ?? "null";
  }
}
