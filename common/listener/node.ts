import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorResponse, expectationFailed, HttpError } from "../http_error.ts";
import { describeError, type Logger } from "../log.ts";
import { badRequest } from "./_head_check.ts";
import { readConnectionLimit } from "./_connection_limit.ts";
import { writeAnswer, writeRawAnswer } from "./_node_answer.ts";
import { NodeExchange } from "./_node_exchange.ts";
import { acceptSocket } from "./_node_socket.ts";
import { BodyCut } from "./types.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "./types.ts";

/** Room for a head of 64 KiB, the most that can be configured; more is answered with 431. */
const MAX_HEAD_BYTES = 72 * 1024;
const HEAD_TIMEOUT_MS = 15_000;
/** Above the 60 s that proxies in front commonly keep theirs, so that they end first. */
const KEEP_ALIVE_MS = 75_000;
/** How often connections are looked at for the two above. */
const CHECK_INTERVAL_MS = 5_000;
/** How long the rest of an unread body may come in after the answer, so that closing does not destroy the answer. */
const LINGER_MS = 2_000;
/** And how much of it: whoever goes on sending is held back, which leaves their answer as it is. */
const LINGER_BYTES = 1024 * 1024;

/**
 * Listens with node:http, or node:http2 (HTTP/1.1 allowed) when TLS is given. Slow heads and idle connections end;
 * a request that moves has no time limit.
 * @throws whatever the system says when the address cannot be had
 */
export async function listenNode(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
  const server = createNodeServer(options);
  const sockets = trackSockets(server);
  let closing = false;
  const front = new NodeFront(options.log, options.tls !== undefined, handler, () => closing);
  server.on("request", (message, out) => front.answer(message, out));
  server.on("checkContinue", (message, out) => front.answer(message, out, () => out.writeContinue()));
  server.on("checkExpectation", (message, out) => front.refuseExpectation(message, out));
  // Closed gently: streams under way, however quiet they are, go on to their end.
  server.on("session", (session: ServerHttp2Session) => session.setTimeout(KEEP_ALIVE_MS, () => session.close()));
  server.on("upgrade", (message, socket, head) => front.answerUpgrade(message, socket, head));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.hostname, resolve);
  });
  // A listening TCP server has an address of this kind, never a path or null.
  const address = server.address() as AddressInfo;
  return {
    hostname: address.address,
    port: address.port,
    close() {
      closing = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) if (!front.isBusy(socket)) socket.destroy();
      });
    },
    abort() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function createNodeServer({ tls }: ListenOptions): Server {
  const limits = {
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: HEAD_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    insecureHTTPParser: false,
    noDelay: true,
    // Checked by us, so that the answer has our form.
    requireHostHeader: false,
  };
  // With allowHTTP1 this server takes the options and tells the events of an https one; its type does not say so.
  const server = tls === undefined
    ? createServer(limits)
    : createSecureServer({ ...limits, ...tls, allowHTTP1: true }) as unknown as Server;
  server.maxConnections = readConnectionLimit();
  // Fields above a count would be dropped silently; the size of the head is the limit.
  server.maxHeadersCount = 0;
  server.headersTimeout = HEAD_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;
  return server;
}

function trackSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A reset is an end like any other: whoever waits on the socket hears of its close.
    socket.on("error", () => {});
  };
  server.on("connection", track);
  server.on("secureConnection", track);
  return sockets;
}

/** Carries exchanges between node's events and the handler. */
class NodeFront {
  readonly #busy = new Map<Duplex, number>();
  /** Connections on which a head was refused: what follows there is no request, even when it came in one piece. */
  readonly #refused = new WeakSet<Duplex>();
  readonly #log: Logger;
  readonly #secure: boolean;
  readonly #handler: ExchangeHandler;
  readonly #isClosing: () => boolean;

  constructor(log: Logger, secure: boolean, handler: ExchangeHandler, isClosing: () => boolean) {
    this.#log = log;
    this.#secure = secure;
    this.#handler = handler;
    this.#isClosing = isClosing;
  }

  /** Whether exchanges run on this connection. */
  isBusy(socket: Duplex): boolean {
    return this.#busy.has(socket);
  }

  answer(message: IncomingMessage, out: ServerResponse, sendContinue?: () => void): void {
    if (this.#refused.has(message.socket)) return;
    const exchange = new NodeExchange(message, { secure: this.#secure, sendContinue });
    if (exchange.fault !== null && message.httpVersionMajor === 1) this.#refused.add(message.socket);
    this.#track(message.socket, out);
    out.on("close", () => {
      if (!out.writableFinished) exchange.leave();
    });
    out.on("error", () => exchange.leave());
    out.on("finish", () => this.#settleBody(message, exchange));
    void this.#respond(exchange, out);
  }

  async #respond(exchange: NodeExchange, out: ServerResponse): Promise<void> {
    const response = await this.#handle(exchange);
    try {
      const { fault } = exchange;
      const mustEnd = fault !== null || exchange.awaitsContinue || this.#isClosing();
      if (mustEnd && out.req.httpVersionMajor === 1) out.shouldKeepAlive = false;
      await writeAnswer(out, response, exchange.method);
    } catch (error) {
      this.#logFailure(error);
      out.destroy();
    }
  }

  refuseExpectation(message: IncomingMessage, out: ServerResponse): void {
    this.#track(message.socket, out);
    const refusal = expectationFailed(`This server knows no expectation "${message.headers.expect}".`, {
      supported_expectations: ["100-continue"],
    });
    const response = errorResponse(refusal, message.headers.accept ?? null);
    writeAnswer(out, response, message.method ?? "GET").catch((error) => this.#logFailure(error));
  }

  answerUpgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#refused.has(message.socket)) return;
    const exchange = new NodeExchange(message, { secure: this.#secure });
    const leave = () => exchange.leave();
    socket.on("close", leave);
    socket.on("error", leave);
    this.#track(message.socket, socket);
    void this.#respondUpgrade(exchange, message, socket, head).catch((error) => {
      this.#logFailure(error);
      socket.destroy();
    });
  }

  async #respondUpgrade(exchange: NodeExchange, message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const response = exchange.hasBody && exchange.fault === null
      ? errorResponse(badRequest("An upgrade request can have no body."), exchange.header("accept"))
      : await this.#handle(exchange);
    const isAccepted = exchange.accepted?.response === response;
    // Whoever accepted the WebSocket waits to hear of its end.
    if (socket.destroyed && isAccepted) return exchange.accepted?.options.onClose(1006, "");
    if (socket.destroyed) return await response.body?.cancel();
    if (exchange.accepted !== null && isAccepted) acceptSocket(message, socket, head, exchange.accepted.options);
    else await writeRawAnswer(socket, response);
  }

  /** The handler's answer, or the one that says why there is none. */
  async #handle(exchange: NodeExchange): Promise<Response> {
    const accept = exchange.header("accept");
    if (exchange.fault !== null) return errorResponse(exchange.fault, accept);
    try {
      return await this.#handler(exchange);
    } catch (error) {
      this.#logFailure(error);
      return errorResponse(new HttpError(500, "internal_error", "The server failed to answer this request."), null);
    }
  }

  #logFailure(error: unknown): void {
    if (error instanceof BodyCut) return;
    this.#log.error("exchange_failed", {
      reason: describeError(error),
      stack: error instanceof Error ? error.stack : undefined,
    });
  }

  /** Counts an exchange on its connection until `until` closes; while closing, the last one ends the connection. */
  #track(socket: Duplex, until: ServerResponse | Duplex): void {
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
    until.once("close", () => {
      const left = (this.#busy.get(socket) ?? 1) - 1;
      if (left > 0) this.#busy.set(socket, left);
      else this.#busy.delete(socket);
      if (left <= 0 && this.#isClosing()) socket.end();
    });
  }

  /** The answer is out. A body that is still coming in gets a little time, so that the visitor can read the answer. */
  #settleBody(message: IncomingMessage, exchange: NodeExchange): void {
    if (!exchange.hasBody || message.complete || message.httpVersionMajor >= 2) return;
    const timer = setTimeout(() => message.socket.destroy(), LINGER_MS);
    // Not of the socket, which may carry many more messages.
    for (const event of ["end", "close"]) message.once(event, () => clearTimeout(timer));
    let taken = 0;
    message.on("data", ({ length }: Buffer) => {
      taken += length;
      if (taken > LINGER_BYTES) message.pause();
    });
    message.resume();
  }
}
