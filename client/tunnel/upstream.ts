import { describeError } from "../../common/log.ts";
import {
  MAX_HEAD,
  MAX_INTERIM,
  MAX_SMALL_BLOCK,
  type RequestStream,
  ResetReason,
  StreamEnded,
  type StreamHandler,
} from "../../protocol/mod.ts";
import { type Connect, ConnectError, type Connection } from "../../net/connection/mod.ts";
import { pumpResponse, type ServiceResponse } from "./response.ts";
import {
  MAX_FIELDS,
  type RequestFacts,
  RequestHead,
  RequestSyntaxError,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../net/http1/mod.ts";
import {
  BodyLengthError,
  type BodyOwner,
  BodyWriter,
  ConnectionBroken,
  type PoolLimits,
  type Reader,
  SignalEnding,
  type UpstreamConnection,
  UpstreamPool,
} from "../../net/upstream/mod.ts";
import type { Target, TunnelRequest } from "./target.ts";
import {
  Addresses,
  isBodyRewritten,
  type PublicBase,
  type PublicPorts,
  pumpRewritten,
  RequestHeadWriter,
  Rewriting,
  type RewrittenExchange,
  sendRewritten,
} from "./rewrite/mod.ts";
import { createTlsProbe } from "./tls_probe.ts";
import { Splice } from "./splice.ts";

/** Options for a local service. */
export interface UpstreamOptions {
  /** The service's URL, for example `http://localhost:3000`. Certificates are not checked. */
  url: URL;
  connect: Connect;
  /** The Host that the service receives; `null` keeps the visitor's Host and leaves all addresses unchanged. */
  hostHeader: string | null;
  /** Local ports whose links become public URLs in responses; null leaves bodies unchanged. */
  rewrite?: PublicPorts | null;
  /** Called when the service becomes reachable or unreachable. */
  onReachable?(reachable: boolean, reason: string): void;
  /** Called once if the service speaks TLS although its URL starts with `http:`. */
  onTls?(): void;
}

/**
 * Connections that may be opening simultaneously. In a burst most requests can reuse a connection; opening one each
 * costs more than the requests, and the service's accept queue is short.
 */
const DIALING = 16;
/**
 * Connections without a first response. 2,000 connections that the system opened before the service accepts any delay a
 * new one by 0.3 s. A page's requests fit; a slow service gets another batch after this time.
 */
const UNHEARD = 64, UNHEARD_MS = 20;
/** The session limits simultaneous requests, and each may have a connection. */
const LIMITS: PoolLimits = {
  perKey: Infinity,
  dialing: DIALING,
  unheard: UNHEARD,
  unheardMs: UNHEARD_MS,
  total: Infinity,
  idlePerKey: 256,
  idleMs: 30_000,
};
/** All connections lead to the same service. */
const KEY = "";

/** Shared state for all requests to one service. */
interface Service {
  readonly pool: UpstreamPool;
  /** @throws ConnectError when the service is unreachable */
  connect(signal: AbortSignal): Promise<Connection>;
  readonly heads: RequestHeadWriter;
  readonly addresses: Addresses | null;
  readonly rewriting: Rewriting | null;
  setReachable(reachable: boolean, reason: string): void;
  onNoHttp(): void;
}

/** Creates a target for a service on this machine. Keep-alive connections carry heads and bodies unchanged. */
export function createUpstream(options: UpstreamOptions): Target {
  const { url, connect, hostHeader, rewrite = null, onReachable, onTls } = options;
  const isTls = url.protocol === "https:";
  const { hostname } = url, port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const rewriting = rewrite === null ? null : new Rewriting({ service: url, hostHeader, ports: rewrite });
  const addresses = hostHeader === null && rewriting === null
    ? null
    : new Addresses(url, hostHeader ?? url.host, rewriting?.findOrigin.bind(rewriting));
  let reachable = true;
  const service: Service = {
    pool: new UpstreamPool(LIMITS),
    connect: (signal) => connect({ hostname, port, tls: isTls ? { allowSelfSigned: true } : undefined, signal }),
    heads: new RequestHeadWriter({ hostHeader, addresses: hostHeader === null ? null : addresses }),
    addresses,
    rewriting,
    setReachable(now, reason) {
      if (now !== reachable) onReachable?.(now, reason);
      reachable = now;
    },
    onNoHttp: isTls || onTls === undefined ? ignore : createTlsProbe(connect, hostname, port, onTls),
  };
  return {
    name: url.origin,
    handle: (request) => new UpstreamExchange(request, service),
    close: () => Promise.resolve(service.pool.close()),
  };
}

/** Returns the visitor's address that the relay reports. */
function readVisitor(head: RequestHead): string {
  const field = head.find("x-forwarded-for");
  return field < 0 ? "" : head.value(field);
}

/**
 * Returns the visitor's address from a written head, for the few requests that are sent again after their own head was
 * overwritten. Returns an empty text if the user's own Host makes the head unreadable.
 */
function rereadVisitor(written: Uint8Array): string {
  const head = new RequestHead();
  try {
    return head.parse(written, 0, written.length, MAX_FIELDS) ? readVisitor(head) : "";
  } catch (error) {
    if (error instanceof RequestSyntaxError) return "";
    throw error;
  }
}

const CONTINUE = 100;

/** Carries one request to the local service and its response back. */
class UpstreamExchange implements StreamHandler, Reader, BodyOwner, RequestFacts {
  readonly method: string;
  readonly upgrade: boolean;
  readonly #stream: RequestStream;
  readonly #service: Service;
  readonly #body: BodyWriter | null;
  /** The connection whose response is complete while the request's last bytes are being written. */
  #leaving: UpstreamConnection | null = null;
  /** The head as the service receives it. */
  readonly #head: Uint8Array;
  readonly #base: PublicBase | null;
  readonly #rewriting: RewrittenExchange | null;
  #connection: UpstreamConnection | null = null;
  #connecting: AbortController | null = null;
  #splice: Splice | null = null;
  #interims = 0;
  readonly #expectsContinue: boolean;

  constructor(request: TunnelRequest, service: Service) {
    const { stream, head, bodyless, upgrade } = request;
    this.method = head.method;
    this.upgrade = upgrade;
    this.#expectsContinue = head.expectation === "continue";
    this.#stream = stream;
    this.#service = service;
    this.#base = service.addresses?.readBase(head) ?? null;
    this.#rewriting = this.#base === null || upgrade ? null : service.rewriting?.begin(head, this.#base) ?? null;
    const framing = head.hasLength ? { length: head.length } : "chunked";
    this.#body = bodyless || upgrade ? null : new BodyWriter(framing, this);
    if (this.#body !== null) stream.expect(head.length);
    const idle = service.pool.take(KEY);
    this.#head = service.heads.write(request, idle?.scratch ?? null, this.#rewriting?.edits);
    if (idle === null) this.#connect(readVisitor(head));
    else this.#send(idle);
  }

  /** Only written bytes give credit to the relay. */
  onBodyWritten(bytes: number): void {
    this.#stream.consumed(bytes);
  }

  /** A service may respond and close before it reads the whole body. Its response decides, or the missing response. */
  onBodyFailed(error: Error): void {
    this.#leaving?.close();
    if (error instanceof BodyLengthError) this.#fail(error);
  }

  onBodyComplete(): void {
    if (this.#leaving !== null) this.#service.pool.release(this.#leaving);
    this.#leaving = null;
  }

  onData(piece: Uint8Array, end: boolean): void {
    if (this.#splice !== null) this.#splice.push(piece, end);
    else if (this.#body !== null) {
      this.#body.push(piece);
      if (end) this.#body.finish();
    }
  }

  onTrailers(frame: Uint8Array, start: number, end: number): void {
    this.#body?.finish(frame.subarray(start, end));
  }

  onReset(): void {
    this.#connecting?.abort();
    this.#splice?.abort();
    this.#connection?.close();
  }

  /** @param visitor the visitor's address, for fair queueing */
  async #connect(visitor: string): Promise<void> {
    const { signal } = this.#connecting = new AbortController();
    try {
      const ending = new SignalEnding(signal, () => signal.reason);
      const connection = await this.#service.pool.open(KEY, () => this.#service.connect(signal), ending, visitor);
      this.#service.setReachable(true, "");
      if (this.#stream.ended === null) this.#send(connection);
      else connection.close();
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * There is no `await` from here to {@link onRead}: most requests are small, and each await costs as much as parsing
   * one.
   */
  #send(connection: UpstreamConnection): void {
    this.#connection = connection;
    if (this.#body === null) connection.send(this.#head);
    else this.#body.start(connection, this.#head);
    connection.read(this);
  }

  onRead(connection: UpstreamConnection, count: number | null): void {
    if (count === null) return this.onBroken(connection);
    try {
      const head = this.#parseHead(connection);
      if (head === null) connection.read(this);
      else this.#onHead(connection, head);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Returns the final head if it is complete, and passes on the interim responses before it. */
  #parseHead(connection: UpstreamConnection): ResponseHead | null {
    for (;;) {
      const head = connection.parseHead(this);
      if (head === null || !head.informational) return head;
      this.#inform(connection.buffer, head);
      connection.start = head.end;
    }
  }

  /** Passes an interim response on, up to a limit. `100 Continue` goes to the relay only if it forwarded the expectation. */
  #inform(buffer: Uint8Array, head: ResponseHead): void {
    if (head.status === CONTINUE && !this.#expectsContinue) return;
    if (++this.#interims > MAX_INTERIM) return;
    const { block, blockStart, blockEnd } = this.#toResponse(buffer, head);
    if (blockEnd - blockStart <= MAX_SMALL_BLOCK) this.#stream.inform(head.status, block, blockStart, blockEnd);
  }

  #toResponse(buffer: Uint8Array, head: ResponseHead): ServiceResponse {
    const { reasonStart, fieldsEnd } = head;
    const edited = this.#base === null
      ? null
      : this.#service.addresses!.editResponse(buffer, reasonStart, fieldsEnd, this.#base);
    if (edited !== null && edited.length > MAX_HEAD) throw new ResponseSyntaxError("the head is too large");
    return edited === null
      ? { head, block: buffer, blockStart: reasonStart, blockEnd: fieldsEnd }
      : { head, block: edited, blockStart: 0, blockEnd: edited.length };
  }

  #onHead(connection: UpstreamConnection, head: ResponseHead): void {
    const asItIs = this.#toResponse(connection.buffer, head);
    const answer = this.#rewriting === null ? asItIs : this.#rewrite(connection, asItIs, this.#rewriting);
    if (answer === null) return;
    if (connection.isWhole(head) && this.#stream.mayRespond(head.length)) {
      const { block, blockStart, blockEnd } = answer, bodyEnd = head.end + head.length;
      this.#stream.respond(head.status, block, blockStart, blockEnd, connection.buffer, head.end, bodyEnd, true);
      return this.#finish(connection, head.keepAlive && connection.end === bodyEnd);
    }
    if (head.framing === "upgrade") return this.#switch(connection, answer);
    this.#follow(connection, pumpResponse(this.#stream, connection, answer));
  }

  #follow(connection: UpstreamConnection, pump: Promise<boolean>): void {
    pump.then((clean) => this.#finish(connection, clean)).catch((error) => this.#fail(error));
  }

  /** Returns the response to send if its body stays unchanged; null if a rewritten one is on its way. */
  #rewrite(
    connection: UpstreamConnection,
    answer: ServiceResponse,
    exchange: RewrittenExchange,
  ): ServiceResponse | null {
    const { head, block, blockStart, blockEnd } = answer, stream = this.#stream;
    const rewritten = exchange.readHead(head.status, block, blockStart, blockEnd);
    if (!isBodyRewritten(rewritten)) {
      const bytes = rewritten.head.toBytes();
      return { head, block: bytes, blockStart: 0, blockEnd: bytes.length };
    }
    const rewriting = { stream, connection, head, exchange, rewritten };
    if (!sendRewritten(rewriting)) this.#follow(connection, pumpRewritten(rewriting));
    else this.#finish(connection, head.keepAlive && connection.end === head.end + head.length);
    return null;
  }

  /** From here on both directions carry bytes. */
  #switch(connection: UpstreamConnection, { head, block, blockStart, blockEnd }: ServiceResponse): void {
    connection.start = head.end;
    // The visitor may send bytes at once, so the splice must exist before the response.
    this.#splice = new Splice(this.#stream, connection.detach());
    this.#stream.respond(head.status, block, blockStart, blockEnd, NOTHING, 0, 0, false);
    void this.#splice.run();
  }

  /**
   * An idle connection may close just as a request goes out. Idempotent requests are sent again (RFC 9110, section
   * 9.2.2).
   */
  onBroken(connection: UpstreamConnection, cause?: unknown): void {
    const mayRetry = connection.isKept && this.#body === null && this.#stream.ended === null &&
      this.#interims === 0 && IDEMPOTENT.has(this.method);
    connection.close();
    if (mayRetry) this.#connect(rereadVisitor(this.#head));
    else this.#fail(new ConnectionBroken("it closed the connection", { cause }));
  }

  /** The response is complete. The connection is reused only if no byte from this exchange remains on it. */
  #finish(connection: UpstreamConnection, clean: boolean): void {
    const isSent = this.#body === null || this.#body.complete;
    this.#connection = null;
    // A local service often responds before this side learns that the body's last bytes were written.
    if (clean && this.#body?.isLeaving) {
      this.#leaving = connection;
      return;
    }
    if (clean && isSent) this.#service.pool.release(connection);
    else connection.close();
    if (!isSent) this.#stream.reset(ResetReason.none);
  }

  #fail(error: unknown): void {
    this.#connection?.close();
    if (error instanceof StreamEnded || this.#stream.ended !== null) return;
    const { reason, text } = this.#explain(error);
    this.#stream.reset(reason, text);
  }

  #explain(error: unknown): { reason: ResetReason; text: string } {
    if (error instanceof ConnectError) {
      this.#service.setReachable(false, error.message);
      const text = error.failure === "tls"
        ? "It does not speak TLS as it should."
        : "It is not running, or it refuses connections.";
      return { reason: ResetReason.refused, text };
    }
    if (this.#connection?.hasResponded !== true || error instanceof ResponseSyntaxError) this.#service.onNoHttp();
    if (error instanceof ResponseSyntaxError) return { reason: ResetReason.notHttp, text: toSentence(error.message) };
    return { reason: ResetReason.broken, text: describeError(error) };
  }
}

/** Returns a message as a sentence, for visitors. */
function toSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

function ignore(): void {}

const NOTHING = new Uint8Array(0);
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);
