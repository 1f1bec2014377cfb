import { ConnectError, type ConnectFailure, type Connection, type Driver } from "../../../net/connection/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { RequestSyntaxError, ResponseSyntaxError } from "../../../net/http1/mod.ts";
import { describeError } from "../../../common/log.ts";
import {
  BodyLengthError,
  ConnectionBroken,
  type Ending,
  exchange,
  NoResponse,
  type OutgoingFraming,
  type OutgoingRequest,
  PoolExhausted,
  type PoolLimits,
  type ResponseBody,
  serializeRequestHead,
  type UpstreamConnection,
  UpstreamPool,
} from "../../../net/upstream/mod.ts";
import { Dialer, type Guard } from "../../guard/mod.ts";

/** A request to one upstream. Redirects count as responses. */
export interface UpstreamRequest {
  method: string;
  url: URL;
  /** Path and query with one character a byte; the URL's own by default. */
  target?: Pick<URL, "pathname" | "search">;
  /** No framing fields, except a Content-Length that announces an iterable body. */
  headers: readonly (readonly [string, string])[];
  /** An iterable is sent as it is produced: chunked, unless the headers contain its Content-Length. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
  /** Accepts every certificate; false by default. */
  skipTlsVerify?: boolean;
  /** Whether the headers request another protocol; false by default. */
  upgrade?: boolean;
}

/** A response with its body unread. */
export interface HopResponse {
  status: number;
  statusText: string;
  /** In order, with case and duplicates. Bytes beyond ASCII are Latin-1. */
  headers: [string, string][];
  /** The reader must read it to its end or cancel it. */
  body: ResponseBody;
  /** False where Content-Length describes a body that is not sent: HEAD, 204 and 304. */
  hasBody: boolean;
  /** Both are 0 for a reused connection. */
  dnsMs: number;
  connectMs: number;
  /** The connection after status 101, which the caller closes; else null. */
  switched: Connection | null;
}

/** Options for reaching upstreams. */
export interface ProxyUpstreamOptions {
  guard: Guard;
  /** The limit for each address that is tried. */
  connectTimeoutMs: number;
  /** PEM texts of additional certificate authorities. */
  caCerts?: readonly string[];
  /** By default the runtime's own driver, and Node's for TLS and uploads. */
  driver?: Driver;
  limits?: Partial<PoolLimits>;
}

/**
 * Many servers close a connection after 5 s without traffic, and some announce it. The pool does not measure how many
 * connections a server accepts, because there are too many servers.
 */
const LIMITS: PoolLimits = {
  perKey: 256,
  dialing: 256,
  unheard: 256,
  unheardMs: 0,
  total: 4096,
  idlePerKey: 256,
  idleMs: 4000,
};

/** A connection for one request, with its connect times. */
interface Opened {
  connection: UpstreamConnection;
  dnsMs: number;
  connectMs: number;
}

/** Sends requests over connections that the guard checked, and reuses these connections. Its creator closes it. */
export class Upstream {
  readonly #dialer: Dialer;
  readonly #pool: UpstreamPool;
  readonly #exchanging = {
    release: (connection: UpstreamConnection) => this.#pool.release(connection),
    explain: toUpstreamError,
  };

  constructor({ guard, connectTimeoutMs, caCerts, driver, limits }: ProxyUpstreamOptions) {
    this.#dialer = new Dialer({ guard, timeoutMs: connectTimeoutMs, caCerts, driver });
    this.#pool = new UpstreamPool({ ...LIMITS, ...limits });
  }

  /** Sends a request. Resolves with the response head. @throws HttpError, or the reason from `ending` */
  async send(request: UpstreamRequest): Promise<HopResponse> {
    const { ending } = request;
    try {
      const outgoing = serialize(request);
      const kept = this.#pool.take(poolKey(request, outgoing));
      const first = kept ? { connection: kept, dnsMs: 0, connectMs: 0 } : await this.#open(request, outgoing);
      try {
        return await this.#sendOn(first, outgoing);
      } catch (error) {
        // A kept connection may close just when it is reused. Safe requests get a second try.
        if (!first.connection.isKept || !(error instanceof NoResponse) || !isRepeatable(request)) throw error;
      }
      return await this.#sendOn(await this.#open(request, outgoing), outgoing);
    } catch (error) {
      ending.onEnd(null);
      // Without a free connection, the lack of connections is the better reason than the time limit.
      const isTelling = error instanceof HttpError || error instanceof PoolExhausted;
      throw isTelling ? toUpstreamError(error) : ending.reason ?? toUpstreamError(error);
    }
  }

  /** Closes idle connections now and others after their request. */
  close(): void {
    this.#pool.close();
  }

  async #open(request: UpstreamRequest, outgoing: OutgoingRequest): Promise<Opened> {
    const { url, ending, skipTlsVerify = false } = request;
    if (ending.reason) throw ending.reason;
    let dnsMs = 0, connectMs = 0;
    const connection = await this.#pool.open(poolKey(request, outgoing), async () => {
      const abort = new AbortController();
      ending.onEnd((reason) => abort.abort(reason));
      const carriesUpload = outgoing.framing === "chunked" || outgoing.upgrade;
      const dialled = await this.#dialer.dial(url, { signal: abort.signal, carriesUpload, skipTlsVerify });
      ({ dnsMs, connectMs } = dialled);
      return dialled.connection;
    }, ending);
    return { connection, dnsMs, connectMs };
  }

  async #sendOn({ connection, dnsMs, connectMs }: Opened, outgoing: OutgoingRequest): Promise<HopResponse> {
    const { head, statusText, headers, body } = await exchange(connection, outgoing, this.#exchanging);
    const { status } = head;
    const hasBody = outgoing.method !== "HEAD" && status !== 204 && status !== 304;
    const switched = head.framing === "upgrade" ? connection.detach() : null;
    return { status, statusText, headers, body, hasBody, dnsMs, connectMs, switched };
  }
}

function serialize(request: UpstreamRequest): OutgoingRequest {
  const { method, url, target = url, headers, body, ending, upgrade = false } = request;
  const framing = chooseFraming(request);
  const { pathname, search } = target;
  const head = serializeRequestHead({ method, url: { host: url.host, pathname, search }, headers }, framing);
  return { method, head, framing, body, upgrade, ending };
}

function chooseFraming({ body, headers }: UpstreamRequest): OutgoingFraming {
  if (body === null) return "none";
  if (body instanceof Uint8Array) return { length: body.byteLength };
  const announced = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  return announced === undefined ? "chunked" : { length: Number(announced) };
}

/**
 * Uploads need another kind of plain connection, which is slower otherwise. Unverified TLS connections must not serve
 * verified requests. So each kind has its own key.
 */
function poolKey({ url, skipTlsVerify }: UpstreamRequest, { framing, upgrade }: OutgoingRequest): string {
  if (url.protocol === "https:") return skipTlsVerify ? `${url.origin} unverified` : url.origin;
  return framing === "chunked" || upgrade ? `${url.origin} upload` : url.origin;
}

function isRepeatable({ method, body, ending }: UpstreamRequest): boolean {
  return body === null && (method === "GET" || method === "HEAD") && ending.reason === null;
}

/** Status, code and message for a kind of failure. */
type FailureKind = readonly [status: number, code: string, message: string];

const TIMEOUT: FailureKind = [504, "upstream_timeout", "The upstream did not respond in time."];
const UNREACHABLE: FailureKind = [502, "upstream_unreachable", "The upstream cannot be reached from here."];
const FAILED: FailureKind = [502, "upstream_failed", "The request to the upstream failed."];
const RESET: FailureKind = [
  502,
  "upstream_reset",
  "The upstream broke the connection off before its response was complete.",
];

const CONNECT_KINDS: Readonly<Record<ConnectFailure, FailureKind>> = {
  refused: [502, "upstream_refused", "The upstream refuses connections."],
  not_found: UNREACHABLE,
  timeout: TIMEOUT,
  tls: [502, "upstream_tls", "No secure connection to the upstream could be made."],
  aborted: FAILED,
  proxy: FAILED,
  failed: UNREACHABLE,
};

/** Converts an error to a response for callers. HttpErrors stay as they are. */
export function toUpstreamError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const [status, code, message] = chooseKind(error);
  const details = error instanceof ConnectError && error.failure === "tls" ? explainTls(error) : undefined;
  const headers = error instanceof PoolExhausted ? { "retry-after": "1" } : undefined;
  return new HttpError(status, code, message, { cause: error, details, headers });
}

function chooseKind(error: unknown): FailureKind {
  if (error instanceof ConnectError) return CONNECT_KINDS[error.failure];
  if (error instanceof ConnectionBroken) return RESET;
  if (error instanceof ResponseSyntaxError) return [502, "upstream_not_http", "The upstream's response is not HTTP."];
  if (error instanceof RequestSyntaxError) {
    return [400, "description_invalid", "The described request cannot be put into HTTP."];
  }
  if (error instanceof BodyLengthError) {
    return [400, "body_length_wrong", "The body is not as long as its Content-Length says."];
  }
  if (!(error instanceof PoolExhausted)) return FAILED;
  return error.of === "key"
    ? [503, "upstream_busy", `All ${error.limit} connections to the upstream were in use.`]
    : [503, "too_many_connections", "This proxy has as many connections open as it may."];
}

/** The runtimes' messages about certificates and TLS peers, with plain reasons. */
const TLS_REASONS: readonly [said: RegExp, reason: string][] = [
  [/expired/i, "Its certificate has expired."],
  [/not yet valid|not valid yet/i, "Its certificate is not valid yet."],
  [/revoked/i, "Its certificate has been revoked."],
  [/altname|valid for name|cert's list|does not match/i, "Its certificate is for another name."],
  [/self.?signed|unknown ?issuer|ca ?used ?as|local issuer/i, "No trusted authority signed its certificate."],
  // Deno's node:tls reports both cases like this.
  [/unable to verify/i, "No trusted authority signed its certificate, or it has expired."],
  [/wrong.version|packet length|corrupt|content ?type|not.*tls record/i, "It does not speak TLS at this port."],
  [/closed|disconnected|eof|reset|hang up/i, "It closed the connection during the handshake."],
  [/handshake|alert|protocol|cipher/i, "It offers no version or cipher of TLS in use today."],
];

/** Explains why TLS failed. Unknown reasons are quoted. */
function explainTls({ message, cause }: ConnectError): string {
  const said = message.slice(message.indexOf(": ") + 2);
  // The message may contain our own words, and the cause the runtime's.
  const known = `${said} ${describeError(cause)}`;
  return TLS_REASONS.find(([pattern]) => pattern.test(known))?.[1] ?? `It says: ${said.slice(0, 200)}`;
}

/** Creates a 504 for a time limit. */
export function upstreamTimeout(limitMs: number): HttpError {
  return new HttpError(504, "upstream_timeout", `The upstream did not respond within ${limitMs} ms.`);
}
