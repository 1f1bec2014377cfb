import { giveBackTaken } from "../../../net/body/chunk_memory.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse } from "../response.ts";
import {
  DEFAULT_REDIRECTS,
  fieldError,
  type HeaderList,
  HEADERS_HEADER,
  normalizeMethod,
  parseHeadersHeader,
  parseUpstreamUrl,
  type RequestDescription,
} from "../describe/description.ts";
import type { Job } from "../describe/job.ts";
import { isSmallDescription, limitBytes, readDescription } from "../describe/description_bytes.ts";
import type { Caller, OutgoingBody } from "../perform/perform.ts";
import type { DescriptionRouteOptions } from "./request.ts";
import type { RequestRecord } from "../request_log.ts";

/** Options for `/proxy/fetch`. `maxUploadBytes` limits the body that is passed on. */
export interface FetchRouteOptions extends DescriptionRouteOptions {
  maxUploadBytes: number;
}

/** The path before the URL, which may also be in `?url=`. */
export const FETCH_PATH = "/proxy/fetch";

/**
 * `/proxy/fetch/<url>` and `/proxy/fetch?url=<url>`: sends the same method, headers and body to that URL, and passes
 * the response on. A page only prefixes the URL in its `fetch` call.
 */
export class FetchRoute {
  readonly #options: FetchRouteOptions;

  constructor(options: FetchRouteOptions) {
    this.#options = options;
  }

  /** Handles a request. @throws HttpError 400, 401, 413, and as {@link Performer} */
  async handle(exchange: Exchange, record: RequestRecord): Promise<ProxyResponse> {
    const { gate, performer, maxUploadBytes } = this.#options;
    gate.checkOwnToken(exchange);
    gate.checkSize(exchange, maxUploadBytes);
    const url = readFetchUrl(exchange.path);
    const description = describeFetch(exchange, url);
    const caller: Caller = { exchange, record };
    const job: Job = { description, format: { kind: "plain" }, accessToken: null };
    if (!exchange.hasBody) return await performer.perform(job, { content: null }, caller);
    if (isSmallDescription(exchange)) return await this.#performSmall(job, caller);
    return await performer.perform(job, this.#streamBody(exchange), caller);
  }

  /** Reads a small body first, so that a redirect can repeat it. */
  async #performSmall(job: Job, caller: Caller): Promise<ProxyResponse> {
    const { memory, clock, timeoutMs, performer, maxUploadBytes } = this.#options;
    const held = memory.open();
    try {
      const reading = { maxBytes: maxUploadBytes, held, clock, idleMs: timeoutMs };
      return await performer.perform(job, { content: await readDescription(caller.exchange, reading) }, caller);
    } finally {
      held.close();
    }
  }

  #streamBody(exchange: Exchange): OutgoingBody {
    if (exchange.body === null) return { content: null };
    const chunks = limitBytes(exchange.body, this.#options.maxUploadBytes);
    const announced = exchange.header("content-length");
    return {
      content: giveBackTaken(chunks),
      length: announced === null ? undefined : Number(announced),
    };
  }
}

/** Whether a path has an upstream's URL directly after its slash, as `--open-paths` allows. */
export function isOpenPath(path: string): boolean {
  return /^\/(?:(?:https?|wss?):\/|\?url=)/i.test(path) || isHostPath(path);
}

/** `/example.com/path`: a name with a dot, an IPv4 address, or any host with a port. */
const HOST_PATH =
  /^\/(?:[a-z\d_-]+(?:\.[a-z\d_-]+)*\.(?:[a-z]{2,}|xn--[a-z\d-]+|\d{1,3})\.?(?::\d{1,5})?|[\w.-]+:\d{1,5})(?=[/?]|$)/i;

/** Extensions that browsers and crawlers request from every site. None is a top-level domain. */
const FILE_NAME =
  /^\/[^/?]*\.(?:css|env|gif|html?|ico|jpe?g|js|json|map|mjs|php|png|svg|txt|webmanifest|webp|xml)(?=[/?]|$)/i;

/** Whether a path has a host without a scheme directly after its slash, as cors-anywhere accepts it. */
function isHostPath(path: string): boolean {
  return HOST_PATH.test(path) && !FILE_NAME.test(path);
}

/**
 * Returns the URL that a request's path names. Some servers on the way merge the two slashes: `https:/host` counts.
 * Without a scheme the port chooses it, as in cors-anywhere: `https:` for 443, `http:` for every other.
 * @throws HttpError 400 `description_invalid`
 */
export function readFetchUrl(path: string): URL {
  if (isHostPath(path)) return parseUpstreamUrl(`${/^\/[^/?]+:443(?=[/?]|$)/.test(path) ? "https" : "http"}:/${path}`);
  const rest = path.startsWith(FETCH_PATH) ? path.slice(FETCH_PATH.length) : path;
  const text = rest.startsWith("?") || rest.startsWith("/?") ? readUrlParameter(rest) : rest.slice(1);
  if (text === "") throw fieldError("url", "must be given: put it behind the path, or into ?url=");
  return parseUpstreamUrl(text.replace(/^([a-z][a-z\d+.-]*):\/+(?=[^/])/i, "$1://"));
}

/** Reads `?url=`. An unescaped URL extends to the end, including text that looks like our parameters. */
function readUrlParameter(query: string): string {
  const text = /^\/?\?url=(.*)$/s.exec(query)?.[1];
  if (text === undefined) throw fieldError("url", "must be the first parameter");
  if (/^[a-z]+:\//i.test(text)) return text;
  const [value, ...others] = text.split("&");
  if (others.length > 0) throw fieldError(others[0].split("=", 1)[0].slice(0, 100), "is not known");
  try {
    return decodeURIComponent(value);
  } catch {
    throw fieldError("url", "is not escaped as it should be");
  }
}

/**
 * Request fields that stay here. They name the caller's page, by which the upstream would decide for the page's
 * browser; they hold credentials for this server's origin; or this proxy sets them.
 */
const NOT_SENT_ON =
  /^(host|origin|referer|cookie2?|sec-fetch-.*|access-control-.*|forwarded|x-forwarded-.*|x-real-ip|accept-encoding|portway-(?:token|headers))$/;

/** Describes a request that is passed on unchanged. @throws HttpError 400 `description_invalid` */
export function describeFetch(exchange: Pick<Exchange, "method" | "headers" | "header">, url: URL): RequestDescription {
  const headers: HeaderList = [];
  const ofConnection = (exchange.header("connection") ?? "").toLowerCase().split(",").map((name) => name.trim());
  const chosen = exchange.header(HEADERS_HEADER);
  const forced = chosen === null ? [] : parseHeadersHeader(chosen);
  const forcedNames = new Set(forced.map(([name]) => name.toLowerCase()));
  for (let at = 0; at < exchange.headers.length; at += 2) {
    const name = exchange.headers[at];
    if (NOT_SENT_ON.test(name) || ofConnection.includes(name) || forcedNames.has(name)) continue;
    headers.push([name, exchange.headers[at + 1]]);
  }
  headers.push(...forced);
  return {
    method: normalizeMethod(exchange.method),
    url,
    headers,
    body: null,
    redirect: "follow",
    maxRedirects: DEFAULT_REDIRECTS,
    timeoutMs: null,
    maxBytes: null,
    stream: true,
    skipTlsVerify: false,
    responseType: "auto",
  };
}
