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

/** What the proxy needs of the server, the operator's choices, and its limits. */
export interface ProxyOptions {
  log: Logger;
  /** Hosts, addresses and CIDR ranges that may be reached although they are not public. */
  allow: readonly string[];
  /** Whether a host and port are this server's own, tunnels included. */
  isOwnHost: (hostname: string, port: number) => boolean;
  /** Whether this server answers at an address and port. */
  isOwnAddress: OwnAddressCheck;
  /** Who a request is counted for. */
  addressOf: (exchange: Exchange) => string;
  /** Which pages may use it. */
  cors: Cors;
  /** Folder to serve files from, or null. */
  files: string | null;
  token: string | null;
  /** A minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** Requests carried out at a time. */
  maxConcurrent: number;
  /** Bytes of an answer that is held in memory. */
  maxBytes: number;
  /** Bytes of a JSON description, and of a describing part of a form. */
  maxDescriptionBytes: number;
  /** Bytes of a form, streamed on. */
  maxUploadBytes: number;
  timeoutMs: number;
  /** Whether callers may have upstreams' certificates left unchecked. */
  allowSkipTlsVerify: boolean;
  /** Whether the URL of an upstream may stand right behind the server's address, as in `/https://host/path`. */
  openPaths: boolean;
  /** Whether the server is nothing but this proxy, so that `POST /` is proxyscotch's. */
  isAlone: boolean;
  streamIdleMs: number;
  /** PEM texts trusted in upstreams' certificates besides the usual ones. */
  caCerts?: readonly string[];
  resolver?: Resolver;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** The CORS proxy: every path below `/proxy/`, and those beside it that the options give it. Its creator closes it. */
export class CorsProxy {
  readonly #options: ProxyOptions;
  readonly #gate: ProxyGate;
  readonly #clock = new AlarmClock();
  readonly #upstream: Upstream;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #files: Route;
  readonly #fetch: Route;
  readonly #upgrades: UpgradeRoute;

  /** @throws SyntaxError for an entry of `allow` that cannot be read. */
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
    const request = new RequestRoute(shared, (exchange, record) => form.answer(exchange, record));
    this.#files = createFiles({ root: options.files, gate: this.#gate });
    this.#fetch = (exchange, record) => fetch.answer(exchange, record);
    this.#upgrades = new UpgradeRoute({ gate: this.#gate, performer, sender, clock: this.#clock, limits: options });
    const answerRequest: Route = (exchange, record) => request.answer(exchange, record);
    this.#routes = new Map([
      ["/proxy/request", answerRequest],
      ["/proxy/form", (exchange, record) => form.answer(exchange, record)],
      [FETCH_PATH, this.#fetch],
      ...(options.isAlone ? [["/", answerRequest] as const] : []),
    ]);
  }

  /** Whether a request is this proxy's to {@link handle}. */
  takes({ method, path }: Pick<Exchange, "method" | "path">): boolean {
    if (path.startsWith("/proxy/")) return true;
    const { isAlone, openPaths } = this.#options;
    return openPaths && isOpenPath(path) || isAlone && method === "POST" && path.split("?", 1)[0] === "/";
  }

  /** Answers a request that is this proxy's, errors included. Null when that is done already. */
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
      const answer = await this.#answer(route, exchange, record);
      if (answer === null) return null;
      record.status ||= answer.status;
      const { body } = answer, headers = [...answer.headers, ...this.#options.cors.headers(exchange)];
      if (typeof body !== "string") return new Response(body, { status: answer.status, headers });
      sendText(exchange, answer.status, headers, body);
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

  #answer(route: Route, exchange: Exchange, record: RequestRecord): Promise<ProxyResponse | null> {
    const { upgrade } = exchange;
    // What is asked for beside a request that is described here is nobody's: it is answered as if it were not there.
    if (upgrade === null || route !== this.#fetch) return route(exchange, record);
    return this.#upgrades.answer(exchange, upgrade, record);
  }

  /** Drops idle connections, and those that speak another protocol; others end with their requests. */
  close(): void {
    this.#upgrades.close();
    this.#clock.stop();
    this.#upstream.close();
  }

  /** @throws HttpError 404 `not_found` */
  #routeOf(sent: string, path: string): Route {
    if (this.#options.openPaths && isOpenPath(sent)) return this.#fetch;
    if (path.startsWith(`${FETCH_PATH}/`)) return this.#fetch;
    const route = path.startsWith("/proxy/files/") ? this.#files : this.#routes.get(path);
    if (route === undefined) throw new HttpError(404, "not_found", "There is nothing at this path.");
    return route;
  }
}

/** A path for the log: what follows the route's own name may be a URL, or a name somebody chose. */
function nameRoute(path: string): string {
  return /^\/proxy\/[a-z]{1,20}(?=\/|$)/.exec(path)?.[0] ?? "/";
}
