import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../../connection/mod.ts";
import { delay } from "../../../../common/delay.ts";
import { errorResponse, HttpError } from "../../../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../../../common/log.ts";
import { yieldToEventLoop } from "../../../../common/event_loop.ts";
import { ConnectionError, ErrorCode } from "../../../http2/frames.ts";
import type { RequestFields } from "../../../http2/request_fields.ts";
import { Session, type SessionDriver } from "../../../http2/session.ts";
import type { Stream, StreamReceiver } from "../../../http2/stream.ts";
import { findExpectationFault } from "../../_exchange.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "../../limits.ts";
import { sendResponse } from "../../send_response.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import { BodyCut, type ExchangeHandler, type ListenOptions } from "../../types.ts";
import { Http2Exchange } from "./exchange.ts";

/** The pause before more is read from a client that cancels most of its requests at once. */
const CALM_MS = 100;

/** A connection that speaks HTTP/2. */
export interface Http2Connection {
  /** Whether exchanges run on it. */
  readonly isBusy: boolean;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  /** Counts a second: ends exchanges whose client is too slow. */
  check(limits: ListenerLimits): void;
  /** Announces the end to the client, and ends the connection when it is idle. */
  retire(): void;
}

/** Speaks HTTP/2 on the connections that the edge accepts. The edge enforces the limits of connections. */
export interface Http2Front {
  /** @param onChange called when an exchange begins or ends */
  carry(connection: Connection, remoteAddress: string, onChange: () => void): Http2Connection;
  /** Accepts no more exchanges, and resolves when the running ones are complete. */
  close(): Promise<void>;
  /** Ends all connections at once. */
  abort(): void;
}

/** Options for all connections. */
export interface Http2Options {
  handler: ExchangeHandler;
  limits: ListenerLimits;
  traffic: ListenerTraffic | null;
  log: Logger;
}

/** Creates the HTTP/2 part for an edge listener. */
export function openHttp2({ limits, traffic, log }: ListenOptions, handler: ExchangeHandler): Http2Front {
  const options: Http2Options = { handler, limits: { ...DEFAULT_LIMITS, ...limits }, traffic: traffic ?? null, log };
  const drivers = new Set<Http2Driver>();
  return {
    carry(connection, remoteAddress, onChange) {
      const driver = new Http2Driver(connection, remoteAddress, options, onChange);
      drivers.add(driver);
      void driver.ended.then(() => drivers.delete(driver));
      void driver.run();
      return driver;
    },
    async close() {
      for (const driver of drivers) driver.retire();
      await Promise.all([...drivers].map(({ ended }) => ended));
    },
    abort() {
      for (const driver of drivers) driver.close();
    },
  };
}

/** Owns one HTTP/2 socket: reads into the {@link Session} and performs its effects. */
export class Http2Driver implements Http2Connection, SessionDriver {
  readonly session: Session;
  readonly remoteAddress: string;
  readonly options: Http2Options;
  readonly ended: Promise<void>;
  readonly onChange: () => void;
  readonly #connection: Connection;
  /** The running write loop, null while all frames are written. */
  #writing: Promise<void> | null = null;
  /** Seconds since the current write began. */
  #writeSeconds = 0;
  /** Resumes reading, which waits for a write. */
  #resume: () => void = () => {};
  #end!: () => void;

  /** @param onChange called when an exchange begins or ends */
  constructor(connection: Connection, remoteAddress: string, options: Http2Options, onChange: () => void) {
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.options = options;
    this.onChange = onChange;
    this.session = new Session(this, options.limits);
    this.ended = new Promise((resolve) => this.#end = resolve);
  }

  get isBusy(): boolean {
    return this.session.streams.size > 0;
  }

  /** Runs the connection until either side ends it. */
  async run(): Promise<void> {
    try {
      this.session.start();
      await this.#read();
    } catch (error) {
      this.options.log.error("connection_failed", { reason: describeError(error), stack: stackOf(error) });
      this.session.fail(new ConnectionError(ErrorCode.internal, ""));
      await this.#writing;
    } finally {
      this.close();
    }
  }

  /** Ends the connection at once. */
  close(): void {
    this.#connection.close();
    this.session.close();
    this.#resume();
    this.#end();
  }

  check(limits: ListenerLimits): void {
    if (this.#writing !== null && ++this.#writeSeconds > limits.stallSeconds) return this.abort();
    this.session.tick();
  }

  retire(): void {
    this.session.retire();
  }

  /** As {@link SessionDriver.abort}. The pending read then ends the connection. */
  abort(): void {
    this.#connection.close();
  }

  openStream(stream: Stream, fields: RequestFields): StreamReceiver {
    return new Http2Exchange(this, stream, fields);
  }

  startStream(receiver: StreamReceiver): void {
    if (receiver instanceof Http2Exchange) void this.#respond(receiver);
  }

  onReady(): void {
    if (this.#writing !== null) return;
    this.#writeSeconds = 0;
    // The microtask collects all frames that this callback produces.
    this.#writing = Promise.resolve().then(this.#write);
  }

  onFinish(): void {
    void (this.#writing ?? Promise.resolve()).then(() => this.#connection.closeWrite()).catch(() => {});
  }

  /** Reads until the client ends its direction. The buffer grows with the bytes that arrive at once. */
  async #read(): Promise<void> {
    const { session } = this;
    let buffer = acquireBuffer(SMALL), have = 0;
    try {
      for (;;) {
        // A broken connection is an ordinary end.
        const count = await this.#connection.read(have === 0 ? buffer : buffer.subarray(have)).catch(() => null);
        if (count === null) return;
        have += count;
        const isFull = have === buffer.length;
        let used = session.receive(buffer, 0, have, performance.now());
        while (session.isPaused) {
          await (session.streams.isAbused ? delay(CALM_MS) : yieldToEventLoop());
          used = session.receive(buffer, used, have, performance.now());
        }
        have -= used;
        if (used > 0 && have > 0) buffer.copyWithin(0, used, used + have);
        while (session.output.isFull) await new Promise<void>((resolve) => this.#resume = resolve);
        const wanted = isFull ? Math.min(2 * buffer.length, LARGE) : have === 0 ? SMALL : buffer.length;
        const size = Math.max(wanted, session.frameSize);
        if (size > buffer.length || (have === 0 && size < buffer.length)) {
          const other = acquireBuffer(size);
          other.set(buffer.subarray(0, have));
          releaseBuffer(buffer);
          buffer = other;
        }
      }
    } finally {
      releaseBuffer(buffer);
    }
  }

  /** Writes until no frame may be sent. */
  readonly #write = async (): Promise<void> => {
    const { output } = this.session;
    try {
      for (let bytes = output.take(); bytes !== null; bytes = output.take()) {
        this.#writeSeconds = 0;
        try {
          await this.#connection.write(bytes);
        } finally {
          output.wrote();
        }
        this.#resume();
      }
    } catch {
      this.close();
    } finally {
      this.#writing = null;
    }
  };

  async #respond(exchange: Http2Exchange): Promise<void> {
    const { handler, log } = this.options;
    try {
      const rejection = exchange.rejection ?? findExpectationFault(exchange);
      if (rejection !== null) return await sendResponse(exchange, errorResponse(rejection, exchange.header("accept")));
      if (exchange.mayBeEmpty) await exchange.findBody();
      const response = await handler(exchange);
      if (response !== null) await sendResponse(exchange, response);
    } catch (error) {
      if (!(error instanceof BodyCut)) {
        log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
      }
      if (exchange.response.begun) return exchange.response.cut();
      const failure = new HttpError(500, "internal_error", "The server failed to respond to this request.");
      await sendResponse(exchange, errorResponse(failure, exchange.header("accept")));
    }
  }
}
