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

/** One request to one upstream; redirects are answers here. */
export interface UpstreamRequest {
  method: string;
  url: URL;
  /** Path and query as they are written, one character a byte; those of the URL when left out. */
  target?: Pick<URL, "pathname" | "search">;
  /** Framing is not theirs: a Content-Length among them announces the length of a sequence, nothing else is allowed. */
  headers: readonly (readonly [string, string])[];
  /** A sequence is sent as it is produced: chunked, unless the headers give its Content-Length. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
  /** Take any certificate, of any name; false when left out. */
  skipTlsVerify?: boolean;
  /** The headers ask for another protocol; false when left out. */
  upgrade?: boolean;
}

/** An answer whose body has not been read yet. */
export interface HopResponse {
  status: number;
  statusText: string;
  /** As sent: order, case and duplicates kept. Bytes beyond ASCII are Latin-1. */
  headers: [string, string][];
  /** To be read to its end, or cancelled. */
  body: ResponseBody;
  /** False where a Content-Length speaks of a body that is not sent: HEAD, 204 and 304. */
  hasBody: boolean;
  /** 0 for both when an open connection was used again. */
  dnsMs: number;
  connectMs: number;
  /** Whoever asked for another protocol and got status 101 has the connection, and closes it; else null. */
  switched: Connection | null;
}

/** How upstreams are reached, and how many connections to them are kept. */
export interface ProxyUpstreamOptions {
  guard: Guard;
  /** For each address of an upstream that is tried. */
  connectTimeoutMs: number;
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
  /** By default the runtime's own, and the Node driver for TLS and uploads. */
  driver?: Driver;
  limits?: Partial<PoolLimits>;
}

/**
 * Many servers close a connection after 5 s of silence; some say so. Who has accepted what is not asked of them: they are
 * many, and far away.
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

/** A connection for one request, and how long it took to open. */
interface Opened {
  connection: UpstreamConnection;
  dnsMs: number;
  connectMs: number;
}

/** Sends requests over connections that the guard has checked, and keeps those for others. Its creator closes it. */
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

  /**
   * Resolves with the head of the answer.
   * @throws HttpError, or the reason it had to end for
   */
  async send(request: UpstreamRequest): Promise<HopResponse> {
    const { ending } = request;
    try {
      const outgoing = serialize(request);
      const kept = this.#pool.take(poolKey(request, outgoing));
      const first = kept ? { connection: kept, dnsMs: 0, connectMs: 0 } : await this.#open(request, outgoing);
      try {
        return await this.#sendOn(first, outgoing);
      } catch (error) {
        // A kept connection may die just as it is used again: what can safely be repeated gets a second try.
        if (!first.connection.isKept || !(error instanceof NoResponse) || !isRepeatable(request)) throw error;
      }
      return await this.#sendOn(await this.#open(request, outgoing), outgoing);
    } catch (error) {
      ending.onEnd(null);
      // Who ended while all connections were in use is told of that, not of the time.
      const isTelling = error instanceof HttpError || error instanceof PoolExhausted;
      throw isTelling ? toUpstreamError(error) : ending.reason ?? toUpstreamError(error);
    }
  }

  /** Closes idle connections at once, and those in use when they are done with. */
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
 * Plain connections for uploads are of another kind, slower for everything else, and those to nobody knows whom are
 * of no use to who wants to know: both are kept for each other.
 */
function poolKey({ url, skipTlsVerify }: UpstreamRequest, { framing, upgrade }: OutgoingRequest): string {
  if (url.protocol === "https:") return skipTlsVerify ? `${url.origin} unverified` : url.origin;
  return framing === "chunked" || upgrade ? `${url.origin} upload` : url.origin;
}

function isRepeatable({ method, body, ending }: UpstreamRequest): boolean {
  return body === null && (method === "GET" || method === "HEAD") && ending.reason === null;
}

/** Status, code and message: what a kind of failure is to callers. */
type FailureKind = readonly [status: number, code: string, message: string];

const TIMEOUT: FailureKind = [504, "upstream_timeout", "The upstream did not answer in time."];
const UNREACHABLE: FailureKind = [502, "upstream_unreachable", "The upstream cannot be reached from here."];
const FAILED: FailureKind = [502, "upstream_failed", "The request to the upstream failed."];
const RESET: FailureKind = [
  502,
  "upstream_reset",
  "The upstream broke the connection off before its answer was complete.",
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

/** The answer for whatever ended a request to an upstream early. Errors that are answers already stay as they are. */
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
  if (error instanceof ResponseSyntaxError) return [502, "upstream_not_http", "The upstream did not answer with HTTP."];
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

/** What each runtime says of a certificate, or of a peer without one, in words of ours. */
const TLS_REASONS: readonly [said: RegExp, reason: string][] = [
  [/expired/i, "Its certificate has expired."],
  [/not yet valid|not valid yet/i, "Its certificate is not valid yet."],
  [/revoked/i, "Its certificate has been revoked."],
  [/altname|valid for name|cert's list|does not match/i, "Its certificate is for another name."],
  [/self.?signed|unknown ?issuer|ca ?used ?as|local issuer/i, "Nobody trusted vouches for its certificate."],
  // All that Deno's node:tls tells of either.
  [/unable to verify/i, "Nobody trusted vouches for its certificate, or its time is over."],
  [/wrong.version|packet length|corrupt|content ?type|not.*tls record/i, "It does not speak TLS at this port."],
  [/closed|disconnected|eof|reset|hang up/i, "It closed the connection during the handshake."],
  [/handshake|alert|protocol|cipher/i, "It offers no version or cipher of TLS in use today."],
];

/** Why there is no secure connection, for callers. A reason nobody has met before is told as it is. */
function explainTls({ message, cause }: ConnectError): string {
  const said = message.slice(message.indexOf(": ") + 2);
  // The message may have other words already than those that are known.
  const known = `${said} ${describeError(cause)}`;
  return TLS_REASONS.find(([pattern]) => pattern.test(known))?.[1] ?? `It says: ${said.slice(0, 200)}`;
}

/** 504 for a limit of time that a caller or this server has set. */
export function upstreamTimeout(limitMs: number): HttpError {
  return new HttpError(504, "upstream_timeout", `The upstream did not answer within ${limitMs} ms.`);
}
