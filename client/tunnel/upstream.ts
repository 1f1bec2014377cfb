import { describeError } from "../../common/log.ts";
import { isLoopbackHost } from "../../common/loopback.ts";
import { ResetReason, StreamEnded, type StreamHandler } from "../../protocol/mod.ts";
import { type Connect, ConnectError } from "../connection/mod.ts";
import { pumpAnswer } from "./answer.ts";
import { RequestBody } from "./request_body.ts";
import { RequestHeadWriter } from "./request_writer.ts";
import { parseResponseHead, type ResponseHead, ResponseSyntaxError } from "./response_head.ts";
import type { Target, TunnelRequest } from "./target.ts";
import { type UpstreamConnection, UpstreamPool } from "./upstream_pool.ts";
import { UpstreamWebSocket } from "./upstream_websocket.ts";

export interface UpstreamOptions {
  /** Where the local service is, e.g. `http://localhost:3000`. Certificates of `https:` are not checked. */
  url: URL;
  connect: Connect;
  /** The Host that the service sees; `null` keeps the one the visitor asked for. */
  hostHeader: string | null;
  /** The service was found to be up or down: told when that changes. */
  onReachable?(reachable: boolean, reason: string): void;
}

/** A service on this machine, over keep-alive connections that carry heads and bodies as they are. */
export function createUpstream(options: UpstreamOptions): Target {
  const { url, connect, onReachable } = options;
  const isTls = url.protocol === "https:";
  const pool = new UpstreamPool(connect, {
    hostname: url.hostname,
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    tls: isTls ? { allowSelfSigned: true } : undefined,
  });
  const heads = new RequestHeadWriter(options.hostHeader);
  let reachable = true;
  const setReachable = (now: boolean, reason: string) => {
    if (now !== reachable) onReachable?.(now, reason);
    reachable = now;
  };
  return {
    name: url.origin,
    handle: (request) =>
      new UpstreamExchange(request, pool, heads, setReachable, !isLoopbackHost(url.hostname) && !isTls),
    close: () => Promise.resolve(pool.close()),
  };
}

/** The service ended the connection before it had answered. */
class BrokeOff extends Error {
  override name = "BrokeOff";
}

/** One request on its way through the local service. */
class UpstreamExchange implements StreamHandler {
  readonly #request: TunnelRequest;
  readonly #pool: UpstreamPool;
  readonly #heads: RequestHeadWriter;
  readonly #setReachable: (reachable: boolean, reason: string) => void;
  readonly #masked: boolean;
  readonly #body: RequestBody | null;
  #connection: UpstreamConnection | null = null;
  #connecting: AbortController | null = null;
  #webSocket: UpstreamWebSocket | null = null;

  constructor(
    request: TunnelRequest,
    pool: UpstreamPool,
    heads: RequestHeadWriter,
    setReachable: (reachable: boolean, reason: string) => void,
    masked: boolean,
  ) {
    this.#request = request;
    this.#pool = pool;
    this.#heads = heads;
    this.#setReachable = setReachable;
    this.#masked = masked;
    const { contentLength } = request.head;
    const framing = contentLength >= 0 ? { length: contentLength } : "chunked";
    this.#body = request.bodyless ? null : new RequestBody(request.stream, framing, (error) => this.#fail(error));
    this.#run();
  }

  onData(piece: Uint8Array, end: boolean): void {
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

  async #run(): Promise<void> {
    try {
      const idle = this.#pool.take();
      if (idle === null) return await this.#exchange(await this.#open());
      try {
        await this.#exchange(idle);
      } catch (error) {
        if (!this.#mayRetry(error)) throw error;
        await this.#exchange(await this.#open());
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #open(): Promise<UpstreamConnection> {
    this.#connecting = new AbortController();
    const connection = await this.#pool.open(this.#connecting.signal);
    this.#setReachable(true, "");
    if (this.#request.stream.ended === null) return connection;
    connection.close();
    throw new StreamEnded(this.#request.stream.ended);
  }

  /** An idle connection may end just as a request goes out: what can be sent twice is (RFC 9110, section 9.2.2). */
  #mayRetry(error: unknown): boolean {
    return error instanceof BrokeOff && this.#body === null && this.#request.stream.ended === null &&
      this.#request.stream.status === 0 && IDEMPOTENT.has(this.#request.head.method);
  }

  async #exchange(connection: UpstreamConnection): Promise<void> {
    this.#connection = connection;
    const { head: writtenHead, webSocketKey } = this.#heads.write(this.#request);
    try {
      await connection.write(writtenHead);
    } catch (cause) {
      throw new BrokeOff("the connection broke", { cause });
    }
    this.#body?.start(connection);
    const { head, have } = await this.#readHead(connection);
    if (head.framing === "upgrade") {
      this.#webSocket = new UpstreamWebSocket(this.#request.stream, connection, this.#masked);
      return await this.#webSocket.run(head, have, webSocketKey);
    }
    const clean = await pumpAnswer(this.#request.stream, connection, head, have);
    this.#finish(connection, clean);
  }

  async #readHead(connection: UpstreamConnection): Promise<{ head: ResponseHead; have: number }> {
    const request = { method: this.#request.head.method, upgrade: this.#request.webSocket };
    let at = 0;
    for (let have = 0;;) {
      if (have === connection.buffer.length) connection.grow();
      have += await this.#read(connection, have);
      for (;;) {
        const head = parseResponseHead(connection.buffer, at, have, request);
        if (head === null) break;
        if (!head.informational) return { head, have };
        at = head.end;
      }
    }
  }

  async #read(connection: UpstreamConnection, have: number): Promise<number> {
    try {
      const count = await connection.read(have);
      if (count !== null) return count;
    } catch (cause) {
      throw new BrokeOff("the connection broke", { cause });
    }
    throw new BrokeOff("the connection was closed");
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
      return { reason: ResetReason.refused, text: "It is not running, or it refuses connections." };
    }
    if (error instanceof ResponseSyntaxError) return { reason: ResetReason.notHttp, text: error.message };
    return { reason: ResetReason.broken, text: describeError(error) };
  }
}

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);
