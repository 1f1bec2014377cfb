import { giveMemory, LARGE, MEDIUM, SMALL, takeMemory } from "../../../buffer_pool.ts";
import type { Connection } from "../../../connection/mod.ts";
import type { Logger } from "../../../log.ts";
import { answerRequest, createDenoExchange, failedExchange, listenByDeno } from "../../deno.ts";
import type { DenoExchange } from "../../deno_exchange.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "../../limits.ts";
import { sendResponse } from "../../send_response.ts";
import type { Exchange, ExchangeHandler, ListenOptions } from "../../types.ts";
import { FrameWatch } from "./frame_watch.ts";
import type { Http2Connection, Http2Front } from "./types.ts";

const LOOPBACK = "127.0.0.1";
/** How long a visitor may take to leave once all has been said, in seconds, and how much of theirs is thrown away meanwhile. */
const LINGER_SECONDS = 2;
const LINGER_BYTES = 1024 * 1024;
/** What a GET with a body is called here, as Deno drops bodies with GET; nobody can guess it, and mean another method. */
const GET_WITH_BODY = `GET-${crypto.randomUUID()}`;

/**
 * HTTP/2 by a `Deno.serve` of our own on loopback, which speaks it without TLS: it passes h2spec whole, and tells of
 * visitors who leave. The port that was dialled from says whose connection it is; nobody else is answered there.
 * It has no interim answers and no trailers, and sorts and joins a request's fields.
 */
export function openDenoHttp2(options: ListenOptions, handler: ExchangeHandler): Http2Front {
  const { log } = options, limits = { ...DEFAULT_LIMITS, ...options.limits };
  const visitors = new Map<number, Visitor>();
  const handle: ExchangeHandler = (exchange) => {
    void respond(exchange, handler, log);
    return null;
  };
  const server = listenByDeno({ hostname: LOOPBACK, port: 0, log }, (request, { remoteAddr, completed }) => {
    const visitor = visitors.get(remoteAddr.port);
    if (visitor === undefined) return new Response(null, { status: 403 });
    const from = { secure: true, isHttp2: true, getWithBody: GET_WITH_BODY, limits };
    const exchange = createDenoExchange(request, visitor.remoteAddress, from);
    visitor.began(exchange, completed);
    return answerRequest(exchange, completed, handle, options);
  });
  return {
    descriptors: 2,
    carry(connection, remoteAddress, moved) {
      const visitor = new Visitor(connection, remoteAddress, moved);
      void visitor.run(server.port, visitors);
      return visitor;
    },
    close: () => server.close(),
    abort: () => server.abort(),
  };
}

/** Answers in bytes, so that every answer is written alike, and one that a visitor stops taking is noticed. */
async function respond(exchange: Exchange, handler: ExchangeHandler, log: Logger): Promise<void> {
  try {
    const response = await handler(exchange);
    if (response !== null) await sendResponse(exchange, response);
  } catch (error) {
    const failure = failedExchange(error, log);
    if (exchange.reply.begun) exchange.reply.cut();
    else await sendResponse(exchange, failure);
  }
}

/** One visitor's connection, carried to the inner server as bytes and back. */
class Visitor implements Http2Connection {
  readonly remoteAddress: string;
  readonly ended: Promise<void>;
  readonly #connection: Connection;
  readonly #moved: () => void;
  readonly #watch = new FrameWatch(GET_WITH_BODY);
  readonly #running = new Set<DenoExchange>();
  #end!: () => void;
  /** What the visitor still sends is thrown away. */
  #isLingering = false;
  #lingered = 0;

  constructor(connection: Connection, remoteAddress: string, moved: () => void) {
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.#moved = moved;
    this.ended = new Promise((resolve) => this.#end = resolve);
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** An exchange runs until `completed` settles, in whichever way, or the visitor gives it up. */
  began(exchange: DenoExchange, completed: Promise<void>): void {
    this.#running.add(exchange);
    this.#moved();
    const over = () => {
      if (this.#running.delete(exchange)) this.#moved();
    };
    completed.then(over, over);
    exchange.signal.addEventListener("abort", over, { once: true });
  }

  check(limits: ListenerLimits): void {
    if (this.#isLingering && ++this.#lingered > LINGER_SECONDS) this.#connection.close();
    for (const exchange of this.#running) {
      if (exchange.isTooSlow(limits)) exchange.dropBody();
      if (!exchange.reply.isStalled(limits)) continue;
      if (exchange.reply.isHandedOver) this.#connection.close();
      else exchange.reply.cut();
    }
  }

  retire(): void {
    if (this.#isLingering) return;
    this.#isLingering = true;
    // Nothing is under way, so that this comes between two frames.
    this.#connection.write(createGoAway(this.#watch.lastStream)).then(
      () => this.#connection.closeWrite(),
      () => this.#connection.close(),
    );
  }

  /** Carries bytes both ways until either side ends. */
  async run(port: number, visitors: Map<number, Visitor>): Promise<void> {
    let inner: Deno.TcpConn | null = null;
    try {
      inner = await Deno.connect({ hostname: LOOPBACK, port });
      inner.setNoDelay(true);
      const from = (inner.localAddr as Deno.NetAddr).port;
      visitors.set(from, this);
      // Forgotten only with the connection, so that nobody else is taken for this visitor.
      void this.ended.then(() => visitors.delete(from));
      const up = this.#carryUp(inner), down = this.#carryDown(inner);
      await Promise.race([up, down]);
      // Closing at once could destroy what the visitor has not read yet.
      if (this.#isLingering) await up;
    } catch {
      // Either end broke off, which is an end like any other.
    } finally {
      closeQuietly(inner);
      this.#connection.close();
      this.#end();
    }
  }

  /** Ends with the visitor, and when they send a flood. */
  async #carryUp(inner: Deno.Conn): Promise<void> {
    let memory = takeMemory(SMALL), isTaken = true;
    for (let discarded = 0; discarded < LINGER_BYTES;) {
      const count = await this.#connection.read(memory);
      if (count === null) break;
      const bytes = memory.subarray(0, count);
      if (this.#isLingering || !isTaken) {
        discarded += count;
        continue;
      }
      const passed = this.#watch.push(bytes);
      if (passed === null) break;
      // The server has ended it when it takes no more, and its last words are on their way to the visitor.
      isTaken = await writeAll(inner, passed).then(() => true, () => false);
      memory = grow(memory, count);
    }
    giveMemory(memory);
  }

  /** Ends with the server, and when the visitor cannot be written to. */
  async #carryDown(inner: Deno.Conn): Promise<void> {
    let memory = takeMemory(SMALL);
    for (;;) {
      const count = await inner.read(memory);
      if (count === null || this.#isLingering) break;
      await this.#connection.write(memory.subarray(0, count));
      memory = grow(memory, count);
    }
    giveMemory(memory);
    this.#isLingering = true;
    await this.#connection.closeWrite();
  }
}

/** Larger memory where the last read filled it. */
function grow(memory: Uint8Array<ArrayBuffer>, count: number): Uint8Array<ArrayBuffer> {
  if (count < memory.length || memory.length === LARGE) return memory;
  giveMemory(memory);
  return takeMemory(memory.length === SMALL ? MEDIUM : LARGE);
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(at === 0 ? bytes : bytes.subarray(at));
}

function closeQuietly(conn: Deno.Conn | null): void {
  try {
    conn?.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/** A GOAWAY frame without an error (RFC 9113, section 6.8): streams above `lastStream` were not looked at. */
function createGoAway(lastStream: number): Uint8Array {
  const frame = new Uint8Array(17);
  frame[2] = 8;
  frame[3] = 7;
  new DataView(frame.buffer).setUint32(9, lastStream);
  return frame;
}
