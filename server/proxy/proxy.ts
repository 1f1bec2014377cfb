import { randomBytes } from "node:crypto";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { type Exchange, sendText } from "../../net/listener/mod.ts";
import { describeError, type Logger } from "../../common/log.ts";
import type { Cors } from "../http/mod.ts";
import { Guard, type OwnAddressCheck, type Resolver } from "../guard/mod.ts";
import type { ProxyResponse, Route } from "./response.ts";
import { AlarmClock } from "./perform/deadline.ts";
import { DescriptionMemory } from "./describe/description_bytes.ts";
import { FETCH_PATH, FetchRoute, isOpenPath } from "./routes/fetch.ts";
import { createFiles } from "./routes/files.ts";
import { FormRoute } from "./form/form.ts";
import { ProxyGate } from "./gate.ts";
import { Performer } from "./perform/perform.ts";
import { RequestRoute } from "./routes/request.ts";
import { RequestRecord } from "./request_log.ts";
import { UpgradeRoute } from "./routes/upgrade.ts";
import { toUpstreamError, Upstream } from "./perform/upstream.ts";

/** Options for the proxy: its environment, the operator's choices and its limits. */
export interface ProxyOptions {
  log: Logger;
  /** Hosts, addresses and CIDR ranges that callers may reach although they are not public. */
  allow: readonly string[];
  /** Whether a host and port belong to this server or its tunnels. */
  isOwnHost: (hostname: string, port: number) => boolean;
  /** Whether this server listens at an address and port. */
  isOwnAddress: OwnAddressCheck;
  /** Returns the address that the rate limit counts. */
  addressOf: (exchange: Exchange) => string;
  /** The pages that may use it. */
  cors: Cors;
  /** The folder to serve files from, or null. */
  files: string | null;
  token: string | null;
  /** Per minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** Concurrent requests. */
  maxConcurrent: number;
  /** Most bytes in a buffered response. */
  maxBytes: number;
  /** Most bytes in a JSON description or a form's describing part. */
  maxDescriptionBytes: number;
  /** Most bytes in a streamed form. */
  maxUploadBytes: number;
  timeoutMs: number;
  /** Whether callers may skip the upstream's certificate check. */
  allowSkipTlsVerify: boolean;
  /** Whether an upstream's URL may follow the server's address directly, as in `/https://host/path`. */
  openPaths: boolean;
  /** Whether this proxy runs alone, without a relay. `POST /` accepts proxyscotch's format then. */
  isAlone: boolean;
  streamIdleMs: number;
  /** PEM texts of additional certificate authorities for upstreams. */
  caCerts?: readonly string[];
  resolver?: Resolver;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** The CORS proxy: every path below `/proxy/`, and others that the options add. Its creator closes it. */
export class CorsProxy {
  readonly #options: ProxyOptions;
  readonly #gate: ProxyGate;
  readonly #clock = new AlarmClock();
  readonly #upstream: Upstream;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #files: Route;
  readonly #fetch: Route;
  readonly #upgrades: UpgradeRoute;

  /** @throws SyntaxError for an invalid entry in `allow`. */
  constructor(options: ProxyOptions) {
    const viaToken = `portway-${randomBytes(9).toString("hex")}`;
    const guard = new Guard(options);
    this.#options = options;
    this.#gate = new ProxyGate({ ...options, viaToken });
    this.#upstream = new Upstream({ guard, connectTimeoutMs: CONNECT_TIMEOUT_MS, caCerts: options.caCerts });
    const sender = { upstream: this.#upstream, guard, viaToken };
    const performer = new Performer(sender, this.#clock, options);
    const memory = new DescriptionMemory(options.maxDescriptionBytes);
    const shared = { ...options, gate: this.#gate, performer, memory, clock: this.#clock };
    const form = new FormRoute(shared), fetch = new FetchRoute(shared);
    const request = new RequestRoute(shared, (exchange, record) => form.handle(exchange, record));
    this.#files = createFiles({ root: options.files, gate: this.#gate });
    this.#fetch = (exchange, record) => fetch.handle(exchange, record);
    this.#upgrades = new UpgradeRoute({ gate: this.#gate, performer, sender, clock: this.#clock, limits: options });
    const answerRequest: Route = (exchange, record) => request.handle(exchange, record);
    this.#routes = new Map([
      ["/proxy/request", answerRequest],
      ["/proxy/form", (exchange, record) => form.handle(exchange, record)],
      [FETCH_PATH, this.#fetch],
      ...(options.isAlone ? [["/", answerRequest] as const] : []),
    ]);
  }

  /** Whether {@link handle} accepts a request. */
  takes({ method, path }: Pick<Exchange, "method" | "path">): boolean {
    if (path.startsWith("/proxy/")) return true;
    const { isAlone, openPaths } = this.#options;
    return openPaths && isOpenPath(path) || isAlone && method === "POST" && path.split("?", 1)[0] === "/";
  }

  /** Handles a request, errors included. Returns null when the response is already sent. */
  async handle(exchange: Exchange): Promise<Response | null> {
    const preflight = this.#options.cors.preflight(exchange);
    if (preflight) return preflight;
    const path = exchange.path.split("?", 1)[0];
    const address = this.#options.addressOf(exchange);
    const record = new RequestRecord(this.#options.log, nameRoute(path), address);
    try {
      const route = this.#routeOf(exchange.path, path);
      this.#options.cors.check(exchange);
      this.#gate.enter(exchange, address);
      const response = await this.#route(route, exchange, record);
      if (response === null) return null;
      record.status ||= response.status;
      const { body } = response, headers = [...response.headers, ...this.#options.cors.headers(exchange)];
      if (typeof body !== "string") return new Response(body, { status: response.status, headers });
      sendText(exchange, response.status, headers, body);
      return null;
    } catch (error) {
      const known = error instanceof HttpError ? error : toUpstreamError(error);
      if (known.code === "upstream_failed") this.#options.log.warn("proxy_failed", { reason: describeError(error) });
      record.code = known.code;
      record.status = known.status;
      return this.#options.cors.mark(exchange, errorResponse(known, exchange.header("accept")));
    } finally {
      if (!record.isStreamed) record.write();
    }
  }

  #route(route: Route, exchange: Exchange, record: RequestRecord): Promise<ProxyResponse | null> {
    const { upgrade } = exchange;
    // Routes with descriptions ignore an upgrade in the request.
    if (upgrade === null || route !== this.#fetch) return route(exchange, record);
    return this.#upgrades.handle(exchange, upgrade, record);
  }

  /** Closes idle connections and switched ones. Others end with their requests. */
  close(): void {
    this.#upgrades.close();
    this.#clock.stop();
    this.#upstream.close();
  }

  /** Finds the route for a path. @throws HttpError 404 `not_found` */
  #routeOf(sent: string, path: string): Route {
    if (this.#options.openPaths && isOpenPath(sent)) return this.#fetch;
    if (path.startsWith(`${FETCH_PATH}/`)) return this.#fetch;
    const route = path.startsWith("/proxy/files/") ? this.#files : this.#routes.get(path);
    if (route === undefined) throw new HttpError(404, "not_found", "There is nothing at this path.");
    return route;
  }
}

/** Returns a path for the log. The rest of the path may be a URL or a chosen name. */
function nameRoute(path: string): string {
  return /^\/proxy\/[a-z]{1,20}(?=\/|$)/.exec(path)?.[0] ?? "/";
}
