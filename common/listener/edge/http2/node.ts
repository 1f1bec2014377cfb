import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { Duplex } from "node:stream";
import { giveMemory, LARGE, SMALL, takeMemory } from "../../../buffer_pool.ts";
import type { Connection } from "../../../connection/mod.ts";
import { errorResponse, HttpError } from "../../../http_error.ts";
import { describeError, type Logger, stackOf } from "../../../log.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "../../limits.ts";
import { sendResponse } from "../../send_response.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import { BodyCut, type ExchangeHandler, type ListenOptions } from "../../types.ts";
import { FrameWatch } from "./frame_watch.ts";
import { NodeExchange } from "./node_exchange.ts";
import type { Http2Connection, Http2Front } from "./types.ts";

/** Streams that one visitor may have open, as many as Deno's server allows. */
const MAX_STREAMS = 200;

/** HTTP/2 by node:http2, over the connections that the edge has accepted. */
export function openNodeHttp2({ limits, traffic, log }: ListenOptions, handler: ExchangeHandler): Http2Front {
  const { maxFields, maxHeadBytes } = { ...DEFAULT_LIMITS, ...limits };
  const visitors = new Set<Visitor>();
  const server = createServer({
    // Pseudo-header fields come on top.
    maxHeaderListPairs: maxFields + 4,
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: maxHeadBytes, enablePush: false },
  });
  return {
    descriptors: 0,
    carry(connection, remoteAddress, moved) {
      const visitor = new Visitor(connection, moved);
      visitors.add(visitor);
      void visitor.ended.then(() => visitors.delete(visitor));
      server.once("session", (session) => {
        visitor.take(session, (stream, fields, flags, raw) => {
          const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
          const exchange = new NodeExchange(stream, { fields, raw, hasBody, remoteAddress, maxFields });
          visitor.began(exchange, stream);
          if (traffic !== undefined) stream.once("close", () => countAnswer(stream, traffic));
          void respond(exchange, handler, log);
        });
      });
      server.emit("connection", visitor.duplex);
      return visitor;
    },
    async close() {
      for (const visitor of visitors) visitor.retire();
      await Promise.all([...visitors].map(({ ended }) => ended));
    },
    abort() {
      for (const visitor of visitors) visitor.duplex.destroy();
    },
  };
}

async function respond(exchange: NodeExchange, handler: ExchangeHandler, log: Logger): Promise<void> {
  try {
    if (exchange.fault !== null) return await sendResponse(exchange, errorResponse(exchange.fault, null));
    if (exchange.mayBeEmpty) await exchange.findBody();
    const response = await handler(exchange);
    if (response !== null) await sendResponse(exchange, response);
  } catch (error) {
    if (!(error instanceof BodyCut)) {
      log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
    }
    if (exchange.reply.begun) return exchange.reply.cut();
    const failure = new HttpError(500, "internal_error", "The server failed to answer this request.");
    await sendResponse(exchange, errorResponse(failure, null));
  }
}

function countAnswer({ sentHeaders }: ServerHttp2Stream, traffic: ListenerTraffic): void {
  // There are none when the visitor left before.
  traffic.countAnswer(Number(sentHeaders?.[":status"] ?? 0));
}

type OnStream = (stream: ServerHttp2Stream, fields: IncomingHttpHeaders, flags: number, raw: string[]) => void;

/** One visitor's connection, and the exchanges on it. */
class Visitor implements Http2Connection {
  readonly duplex: Duplex;
  readonly ended: Promise<void>;
  readonly #moved: () => void;
  readonly #running = new Set<NodeExchange>();
  #session: ServerHttp2Session | null = null;

  constructor(connection: Connection, moved: () => void) {
    this.#moved = moved;
    this.duplex = createDuplex(connection);
    this.ended = new Promise((resolve) => this.duplex.once("close", resolve));
  }

  take(session: ServerHttp2Session, onStream: OnStream): void {
    this.#session = session;
    session.on("stream", onStream);
    // The connection ends with it, which is an end like any other.
    session.on("error", () => {}).on("close", () => this.duplex.destroy());
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** An exchange runs until its stream has ended. */
  began(exchange: NodeExchange, stream: ServerHttp2Stream): void {
    this.#running.add(exchange);
    this.#moved();
    stream.once("close", () => {
      this.#running.delete(exchange);
      this.#moved();
    });
  }

  check(limits: ListenerLimits): void {
    for (const exchange of this.#running) {
      if (exchange.isTooSlow(limits)) exchange.dropBody();
      if (exchange.reply.isStalled(limits)) exchange.reply.cut();
    }
  }

  retire(): void {
    if (this.#session === null) this.duplex.destroy();
    else if (!this.#session.closed) this.#session.close();
  }
}

/** A connection as a stream, whose frames are watched. */
function createDuplex(connection: Connection): Duplex {
  const watch = new FrameWatch(null);
  let memory = takeMemory(SMALL);
  return new Duplex({
    read() {
      connection.read(memory).then((count) => {
        if (count === null) return this.push(null);
        if (watch.push(memory.subarray(0, count)) === null) return this.destroy();
        // The stream keeps what it is given.
        const piece = memory.slice(0, count);
        if (count === memory.length && count < LARGE) {
          giveMemory(memory);
          memory = takeMemory(LARGE);
        }
        this.push(piece);
      }, (error) => this.destroy(error));
    },
    write(chunk: Uint8Array, _encoding, done) {
      connection.write(chunk).then(() => done(), done);
    },
    final(done) {
      connection.closeWrite().then(() => done(), done);
    },
    destroy(error, done) {
      connection.close();
      done(error);
    },
    // It ends like any other way of leaving.
  }).on("error", () => {});
}
