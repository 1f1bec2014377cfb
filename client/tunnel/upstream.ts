import { describeError } from "../../common/log.ts";
import { isLoopbackHost } from "../../common/loopback.ts";
import { ResetReason, StreamEnded, type StreamHandler } from "../../protocol/mod.ts";
import { type Connect, ConnectError } from "../../common/connection/mod.ts";
import { isWhole, pumpAnswer, respondWhole } from "./answer.ts";
import { BodyLengthError, RequestBody } from "./request_body.ts";
import { RequestHeadWriter } from "./request_writer.ts";
import {
  type AnsweredRequest,
  parseResponseHead,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../common/http1/mod.ts";
import type { Target, TunnelRequest } from "./target.ts";
import { type Reader, type UpstreamConnection, UpstreamPool } from "./upstream_pool.ts";
import { createTlsProbe } from "./tls_probe.ts";
import { UpstreamWebSocket } from "./upstream_websocket.ts";

export interface UpstreamOptions {
  /** Where the local service is, e.g. `http://localhost:3000`. Certificates of `https:` are not checked. */
  url: URL;
  connect: Connect;
  /** The Host that the service sees; `null` keeps the one the visitor asked for. */
  hostHeader: string | null;
  /** The service was found to be up or down: told when that changes. */
  onReachable?(reachable: boolean, reason: string): void;
  /** The service was found to speak TLS, although its URL says `http:`. Told once. */
  onTls?(): void;
}

/** A service on this machine, over keep-alive connections that carry heads and bodies as they are. */
export function createUpstream(options: UpstreamOptions): Target {
  const { url, connect, onReachable, onTls } = options;
  const isTls = url.protocol === "https:";
  const { hostname } = url, port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const pool = new UpstreamPool(connect, { hostname, port, tls: isTls ? { allowSelfSigned: true } : undefined });
  const onNoHttp = isTls || onTls === undefined ? ignore : createTlsProbe(connect, hostname, port, onTls);
  const heads = new RequestHeadWriter(options.hostHeader);
  let reachable = true;
  const setReachable = (now: boolean, reason: string) => {
    if (now !== reachable) onReachable?.(now, reason);
    reachable = now;
  };
  return {
    name: url.origin,
    handle: (request) =>
      new UpstreamExchange(request, pool, heads, setReachable, !isLoopbackHost(hostname) && !isTls, onNoHttp),
    close: () => Promise.resolve(pool.close()),
  };
}

/** The service ended the connection before it had answered. */
class BrokeOff extends Error {
  override name = "BrokeOff";
}

/** One request on its way through the local service. */
class UpstreamExchange implements StreamHandler, Reader {
  readonly #request: TunnelRequest;
  readonly #pool: UpstreamPool;
  readonly #heads: RequestHeadWriter;
  readonly #setReachable: (reachable: boolean, reason: string) => void;
  readonly #masked: boolean;
  readonly #onNoHttp: () => void;
  readonly #body: RequestBody | null;
  readonly #answered: AnsweredRequest;
  #connection: UpstreamConnection | null = null;
  #connecting: AbortController | null = null;
  #webSocket: UpstreamWebSocket | null = null;
  #webSocketKey = "";
  /** Bytes in the connection's buffer, and where in it the next head begins. */
  #have = 0;
  #headStart = 0;

  constructor(
    request: TunnelRequest,
    pool: UpstreamPool,
    heads: RequestHeadWriter,
    setReachable: (reachable: boolean, reason: string) => void,
    masked: boolean,
    onNoHttp: () => void,
  ) {
    this.#onNoHttp = onNoHttp;
    this.#request = request;
    this.#pool = pool;
    this.#heads = heads;
    this.#setReachable = setReachable;
    this.#masked = masked;
    const { contentLength, method } = request.head;
    this.#answered = { method, upgrade: request.webSocket };
    const framing = contentLength >= 0 ? { length: contentLength } : "chunked";
    this.#body = request.bodyless
      ? null
      : new RequestBody(request.stream, framing, (error) => this.#onBodyFailed(error));
    const idle = pool.take();
    if (idle === null) this.#connect();
    else this.#send(idle);
  }

  /** A service may answer and close before it has read the body: its answer, or the lack of one, is what counts. */
  #onBodyFailed(error: unknown): void {
    if (error instanceof BodyLengthError) this.#fail(error);
  }

  onData(piece: Uint8Array<ArrayBuffer>, end: boolean): void {
    this.#body?.push(piece, end);
  }

  onMessage(piece: Uint8Array, text: boolean, more: boolean): void {
    if (this.#webSocket === null) this.#request.stream.reset(ResetReason.internal, "a WebSocket message out of turn");
    else this.#webSocket.send(piece, text, !more);
  }

  onClose(code: number, reason: string): void {
    if (this.#webSocket === null) this.#abort();
    else this.#webSocket.close(code, reason);
  }

  onReset(): void {
    this.#abort();
  }

  #abort(): void {
    this.#connecting?.abort();
    this.#connection?.close();
  }

  async #connect(): Promise<void> {
    this.#connecting = new AbortController();
    try {
      const connection = await this.#pool.open(this.#connecting.signal);
      this.#setReachable(true, "");
      if (this.#request.stream.ended === null) this.#send(connection);
      else connection.close();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** From here to {@link onRead} there is no `await`: most requests are small, and each costs as much as parsing one. */
  #send(connection: UpstreamConnection): void {
    this.#connection = connection;
    const { head, webSocketKey } = this.#heads.write(this.#request, connection.scratch);
    this.#webSocketKey = webSocketKey;
    // A connection that breaks ends its read too, and that side deals with it.
    connection.write(head).then(() => this.#body?.start(connection), ignore);
    this.#have = this.#headStart = 0;
    connection.read(0, this);
  }

  onRead(connection: UpstreamConnection, count: number | null): void {
    if (count === null) return this.onBroken(undefined);
    this.#have += count;
    try {
      const head = this.#parseHead(connection.buffer);
      if (head !== null) return this.#onHead(connection, head, this.#have);
      if (this.#have === connection.buffer.length) this.#makeRoom(connection);
      connection.read(this.#have, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The final head as far as it is there; those of 1xx before it are passed over. */
  #parseHead(buffer: Uint8Array): ResponseHead | null {
    for (;;) {
      const head = parseResponseHead(buffer, this.#headStart, this.#have, this.#answered);
      if (!head?.informational) return head;
      this.#headStart = head.end;
    }
  }

  /** Interim answers make room first, so that any number of them takes no more memory than one head. */
  #makeRoom(connection: UpstreamConnection): void {
    connection.buffer.copyWithin(0, this.#headStart, this.#have);
    this.#have -= this.#headStart;
    this.#headStart = 0;
    if (this.#have === connection.buffer.length) connection.grow();
  }

  #onHead(connection: UpstreamConnection, head: ResponseHead, have: number): void {
    const { stream } = this.#request;
    if (isWhole(head, have) && stream.room >= head.length) {
      respondWhole(stream, connection, head);
      return this.#finish(connection, head.keepAlive && have === head.end + head.length);
    }
    this.#carry(connection, head, have).catch((error) => this.#fail(error));
  }

  async #carry(connection: UpstreamConnection, head: ResponseHead, have: number): Promise<void> {
    const { stream } = this.#request;
    if (head.framing !== "upgrade") {
      return this.#finish(connection, await pumpAnswer(stream, connection, head, have));
    }
    this.#webSocket = new UpstreamWebSocket(stream, connection, this.#masked);
    await this.#webSocket.run(head, have, this.#webSocketKey);
  }

  /** An idle connection may end just as a request goes out: what can be sent twice is (RFC 9110, section 9.2.2). */
  onBroken(cause: unknown): void {
    const { stream, head } = this.#request;
    const mayRetry = this.#connection?.reused && this.#body === null && stream.ended === null &&
      IDEMPOTENT.has(head.method);
    this.#connection?.close();
    if (mayRetry) this.#connect();
    else this.#fail(new BrokeOff("it closed the connection", { cause }));
  }

  /** The answer is complete. The connection goes on only when nothing of this request is left on it. */
  #finish(connection: UpstreamConnection, clean: boolean): void {
    const { stream } = this.#request;
    const isSent = this.#body === null || this.#body.complete;
    this.#connection = null;
    if (clean && isSent) this.#pool.release(connection);
    else connection.close();
    if (!isSent) stream.reset(ResetReason.none);
  }

  #fail(error: unknown): void {
    this.#connection?.close();
    if (error instanceof StreamEnded || this.#request.stream.ended !== null) return;
    const { reason, text } = this.#explain(error);
    this.#request.stream.reset(reason, text);
  }

  #explain(error: unknown): { reason: ResetReason; text: string } {
    if (error instanceof ConnectError) {
      this.#setReachable(false, error.message);
      const text = error.failure === "tls"
        ? "It does not speak TLS as it should."
        : "It is not running, or it refuses connections.";
      return { reason: ResetReason.refused, text };
    }
    if (this.#have === 0 || error instanceof ResponseSyntaxError) this.#onNoHttp();
    if (error instanceof ResponseSyntaxError) return { reason: ResetReason.notHttp, text: error.message };
    return { reason: ResetReason.broken, text: describeError(error) };
  }
}

function ignore(): void {}

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);
