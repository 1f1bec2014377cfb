import type { Exchange } from "../../net/listener/mod.ts";
import { HttpError } from "../../common/http_error.ts";

/** Which pages may use the proxy, and read some answers of the server besides. */
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

/** Headers in which a streamed answer tells what a buffered one has in its JSON. */
const STREAM_HEADERS = [
  "portway-status",
  "portway-status-text",
  "portway-final-url",
  "portway-headers",
  "portway-redirects",
  "portway-timings",
] as const;

/** Lets a page read the headers of ours that an answer has, for answers that have any. */
export const EXPOSE_HEADERS: [string, string] = [
  "access-control-expose-headers",
  [...STREAM_HEADERS, "portway-error", "retry-after", "etag", "content-range", "accept-ranges", "content-length"].join(
    ", ",
  ),
];

const PREFLIGHT_SECONDS = 7200;
/** Those that pages ask for most; any other is answered with itself. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const ALLOW_CREDENTIALS: [string, string] = ["access-control-allow-credentials", "true"];
const VARY: [string, string] = ["vary", "Origin"];
const allowOrigin = (origin: string): [string, string] => ["access-control-allow-origin", origin];
// Without an Origin there is no page to tell; `*` is said all the same, for caches that serve several.
const FOR_ANY: readonly [string, string][] = [allowOrigin("*")];

/** Answers what browsers ask about pages of other origins (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export class Cors {
  readonly #any: boolean;
  readonly #listed: ReadonlySet<string>;
  readonly #options: CorsOptions;

  constructor(options: CorsOptions) {
    this.#options = options;
    this.#any = options.origins.includes("*");
    this.#listed = new Set(options.origins.filter((origin) => origin !== "*"));
  }

  /** What makes an answer readable for the page that asked, if it may read it. */
  headers(exchange: Exchange): readonly [string, string][] {
    if (this.#any && this.#listed.size === 0) return FOR_ANY;
    const origin = exchange.header("origin");
    if (origin === null || !this.#isAllowed(exchange, origin)) return this.#any ? [VARY, ...FOR_ANY] : [VARY];
    // Pages without an origin of their own are anybody's: they are listed without what a browser knows of its user.
    if (this.#listed.has(origin.toLowerCase()) && origin !== "null") {
      return [VARY, allowOrigin(origin), ALLOW_CREDENTIALS];
    }
    return [VARY, allowOrigin(this.#any ? "*" : origin)];
  }

  /** Marks an answer as readable for the page that asked, if it may read it. */
  mark(exchange: Exchange, response: Response): Response {
    for (const [name, value] of [...this.headers(exchange), EXPOSE_HEADERS]) response.headers.append(name, value);
    return response;
  }

  /** The answer to a preflight, or null when this is none. */
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
    // A page of the Internet that asks for a proxy on the visitor's own machine (Private Network Access).
    if (exchange.header("access-control-request-private-network") === "true") {
      headers.set("access-control-allow-private-network", "true");
    }
    const origin = exchange.header("origin");
    const may = origin === null || this.#isAllowed(exchange, origin);
    return may
      ? this.mark(exchange, new Response(null, { status: 204, headers }))
      : new Response(null, { status: 403 });
  }

  /** @throws HttpError 403 `origin_forbidden` when a page of an origin that is not allowed asks. */
  check(exchange: Exchange): void {
    if (this.#any) return;
    const origin = exchange.header("origin") ?? this.#silentOrigin(exchange);
    if (origin === null || this.#isAllowed(exchange, origin)) return;
    throw new HttpError(403, "origin_forbidden", "Pages of this origin may not use this proxy.", {
      details: "Whoever runs this server can allow origins with --proxy-origins, and name its own with --url.",
    });
  }

  #isAllowed(exchange: Exchange, origin: string): boolean {
    return this.#any || this.#listed.has(origin.toLowerCase()) ||
      origin === this.#options.requestOrigin(exchange) && this.#options.isOwnOrigin(origin);
  }

  /**
   * Pages that read from where they came from do not say so: any request to read may be one of theirs. And a page of
   * another origin that has something loaded, as an image, says no more than that it is another and, mostly, which.
   */
  #silentOrigin(exchange: Exchange): string | null {
    if (exchange.method !== "GET" && exchange.method !== "HEAD") return null;
    const isOther = /^(cross|same)-site$/.test(exchange.header("sec-fetch-site") ?? "");
    if (!isOther) return this.#options.requestOrigin(exchange);
    return URL.parse(exchange.header("referer") ?? "")?.origin ?? "null";
  }
}
