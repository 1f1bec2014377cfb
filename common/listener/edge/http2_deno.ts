import type { Connection } from "../../connection/mod.ts";
import { answerRequest, failedExchange } from "../deno.ts";
import { DenoExchange } from "../deno_exchange.ts";
import type { ExchangeHandler, ListenOptions } from "../types.ts";
import { FrameWatch } from "./frame_watch.ts";
import type { Http2Connection, Http2Front } from "./http2.ts";
import { giveMemory, LARGE, MEDIUM, takeMemory } from "../../buffer_pool.ts";

/**
 * HTTP/2 by a `Deno.serve` of our own on loopback, which speaks it without TLS: it passes h2spec whole, and tells of
 * visitors who leave. The port that was dialled from says whose connection it is; nobody else is answered there.
 */
export function openDenoHttp2({ log }: ListenOptions, handler: ExchangeHandler): Http2Front {
  const visitors = new Map<number, Visitor>();
  const abort = new AbortController();
  const server = Deno.serve({
    hostname: LOOPBACK,
    port: 0,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failedExchange(error, log),
  }, (request, { remoteAddr, completed }) => {
    const visitor = visitors.get(remoteAddr.port);
    if (visitor === undefined) return new Response(null, { status: 403 });
    visitor.began(completed);
    const exchange = new DenoExchange(request, visitor.remoteAddress, { secure: true, isHttp2: true });
    return answerRequest(exchange, handler);
  });
  // It ends when it is told to, and its connections are closed by us.
  const finished = server.finished.catch(() => {});
  return {
    carry(connection, remoteAddress, moved) {
      const visitor = new Visitor(connection, remoteAddress, moved);
      void visitor.run(server.addr.port, visitors);
      return visitor;
    },
    async close() {
      await server.shutdown();
    },
    abort() {
      abort.abort();
      void finished;
    },
  };
}

const LOOPBACK = "127.0.0.1";

/** One visitor's connection, carried to the inner server as bytes and back. */
class Visitor implements Http2Connection {
  readonly remoteAddress: string;
  readonly ended: Promise<void>;
  readonly #connection: Connection;
  readonly #moved: () => void;
  #running = 0;
  #end!: () => void;

  constructor(connection: Connection, remoteAddress: string, moved: () => void) {
    this.#connection = connection;
    this.remoteAddress = remoteAddress;
    this.#moved = moved;
    this.ended = new Promise((resolve) => this.#end = resolve);
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  /** An exchange runs until `completed` settles, in whichever way. */
  began(completed: Promise<void>): void {
    this.#running++;
    const over = () => void this.#running--;
    completed.then(over, over);
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
      const watch = new FrameWatch();
      const dialled = inner;
      const up = pump((into) => this.#connection.read(into), (bytes) => {
        this.#moved();
        return watch.push(bytes) ? writeAll(dialled, bytes) : null;
      });
      const down = pump((into) => dialled.read(into), async (bytes) => {
        await this.#connection.write(bytes);
        this.#moved();
      });
      await Promise.race([up, down]);
    } catch {
      // Either end broke off, which is an end like any other.
    } finally {
      try {
        inner?.close();
      } catch {
        // It has been closed by what broke.
      }
      this.#connection.close();
      this.#end();
    }
  }
}

/** Carries bytes until their end; `write` says null when it will take no more. */
async function pump(
  read: (into: Uint8Array) => Promise<number | null>,
  write: (bytes: Uint8Array) => Promise<void> | null,
): Promise<void> {
  let memory = takeMemory(MEDIUM);
  for (;;) {
    const count = await read(memory);
    if (count === null) break;
    const written = write(memory.subarray(0, count));
    if (written === null) return;
    await written;
    if (count < memory.length || memory.length === LARGE) continue;
    giveMemory(memory);
    memory = takeMemory(LARGE);
  }
  giveMemory(memory);
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(at === 0 ? bytes : bytes.subarray(at));
}
