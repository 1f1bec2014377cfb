import { type Connection, openConnector } from "../../net/connection/mod.ts";
import { FrameSocket } from "../../net/websocket/mod.ts";
import {
  GoAwayReason,
  type HeadWriter,
  Mux,
  type RequestStream,
  ResetReason,
  StreamEnded,
  type StreamHandler,
  type StreamOpening,
} from "../../protocol/mod.ts";
import { LocalPresence, type Presence, type SessionHandle } from "../../server/cluster/mod.ts";

const LIMITS = { maxStreams: 1000, maxUpgrades: 1000 };

/**
 * Presence of several servers on this machine: each answers the others on a port of its own. Who asks sends a key and a
 * line feed; a node whose session has charge of it answers with one byte, and from then on the connection carries the
 * protocol of sessions, one stream a visitor.
 */
export class NodePresence implements Presence, Disposable {
  readonly #here = new LocalPresence();
  /** Ways to sessions of other nodes. */
  readonly #links = new Map<string, SessionHandle>();
  /** Other nodes' ways to sessions of this one. */
  readonly #served = new Map<SessionHandle, Mux[]>();
  readonly #peers: readonly number[];
  readonly #connect = openConnector();
  readonly #listener: Deno.TcpListener;

  /** @param peers ports of other nodes */
  constructor(peers: readonly number[] = []) {
    this.#peers = peers;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    void this.#accept();
  }

  /** Where other nodes ask this one. */
  get port(): number {
    return this.#listener.addr.port;
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const link of this.#links.values()) link.end(GoAwayReason.lost, "");
  }

  claim(key: string, carrier: SessionHandle): void {
    this.#here.claim(key, carrier);
  }

  release(key: string, carrier: SessionHandle): boolean {
    for (const mux of this.#served.get(carrier) ?? []) mux.sendGoAway(GoAwayReason.draining, "no more of this session");
    this.#served.delete(carrier);
    return this.#here.release(key, carrier);
  }

  find(key: string): SessionHandle | null | Promise<SessionHandle | null> {
    const known = this.#here.find(key) ?? this.#links.get(key);
    return known !== undefined && !known.over ? known : this.#ask(key);
  }

  watch(key: string, listener: (carrier: SessionHandle) => void): () => void {
    return this.#here.watch(key, listener);
  }

  async #ask(key: string): Promise<SessionHandle | null> {
    for (const port of this.#peers) {
      try {
        const connection = await this.#connect({ hostname: "127.0.0.1", port });
        await connection.write(new TextEncoder().encode(`${key}\n`));
        if (await connection.read(new Uint8Array(1)) === null) continue;
        const link = new Link(connection);
        this.#links.set(key, link);
        return link;
      } catch {
        // A node that cannot be asked has no session.
      }
    }
    return null;
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) void this.#answer(toConnection(connection));
  }

  async #answer(connection: Connection): Promise<void> {
    const key = await readLine(connection);
    const carrier = this.#here.find(key);
    if (carrier === null) return connection.close();
    await connection.write(Uint8Array.of(1));
    this.#served.set(carrier, [...this.#served.get(carrier) ?? [], serve(connection, carrier)]);
  }
}

/** The way to a session of another node. */
class Link implements SessionHandle {
  readonly #mux: Mux;
  #drains = false;

  constructor(connection: Connection) {
    const socket: FrameSocket = openSocket(connection, "zero", () => this.#mux);
    this.#mux = new Mux({
      ...LIMITS,
      transport: socket,
      onEnd: () => socket.close(),
      onGoAway: () => this.#drains = true,
    });
    socket.start();
  }

  get over(): boolean {
    return this.#mux.over || this.#drains;
  }

  open(opening: StreamOpening, head: HeadWriter | null, handler: StreamHandler): RequestStream | null {
    return this.#mux.open(opening, head, handler);
  }

  end(reason: GoAwayReason, text: string): void {
    this.#mux.end(reason, text);
  }
}

/** The other end of a {@link Link}: each of its streams becomes one of the session. */
function serve(connection: Connection, carrier: SessionHandle): Mux {
  const socket: FrameSocket = openSocket(connection, "bare", () => mux);
  const mux: Mux = new Mux({
    ...LIMITS,
    transport: socket,
    onEnd: () => socket.close(),
    onGoAway: (reason, text) => carrier.end(reason, text),
    onOpen(stream, frame, start, end, opening) {
      const bridge = new Bridge(stream);
      const request = frame.slice(start, end);
      const onward = carrier.open(
        opening,
        {
          headSize: request.length,
          writeHead(into, at) {
            into.set(request, at);
            return at + request.length;
          },
        },
        bridge.answers,
      );
      if (onward === null) stream.reset(ResetReason.limit, "the session takes no more");
      else bridge.onward = onward;
      return bridge.requests;
    },
  });
  socket.start();
  return mux;
}

/** Joins a stream of another node with one of the session: what comes in on one goes out on the other. */
class Bridge {
  onward: RequestStream | null = null;
  readonly #inward: RequestStream;
  /** What was written in each direction: one piece after the other. */
  #sent = Promise.resolve();
  #answered = Promise.resolve();

  constructor(inward: RequestStream) {
    this.#inward = inward;
  }

  /** What the other node sends. */
  readonly requests: StreamHandler = {
    onData: (piece, end) => void (this.#sent = pass(this.#sent, this.#inward, this.onward, piece, end)),
    onTrailers: (frame, start, end) => {
      const trailers = frame.slice(start, end);
      void this.#sent.then(() => this.onward?.end(trailers));
    },
    onReset: (reason, text) => this.onward?.reset(reason, text),
  };

  /** What the session's client sends. */
  readonly answers: StreamHandler = {
    onInterim: (status, frame, start, end) => this.#inward.inform(status, frame, start, end),
    onResponse: (status, frame, start, blockEnd, payloadEnd, end) => {
      const isWhole = end && blockEnd === payloadEnd;
      this.#inward.respond(status, frame, start, blockEnd, frame, blockEnd, blockEnd, isWhole);
      if (!isWhole) this.answers.onData(frame.subarray(blockEnd, payloadEnd), end);
    },
    onData: (piece, end) => void (this.#answered = pass(this.#answered, this.onward, this.#inward, piece, end)),
    onTrailers: (frame, start, end) => {
      const trailers = frame.slice(start, end);
      void this.#answered.then(() => this.#inward.end(trailers));
    },
    onReset: (reason, text) => this.#inward.reset(reason, text),
  };
}

/** Writes what came in on one stream to the other, behind what came before, and gives its credit back then. */
async function pass(
  before: Promise<void>,
  from: RequestStream | null,
  to: RequestStream | null,
  piece: Uint8Array,
  end: boolean,
): Promise<void> {
  const copy = piece.slice();
  await before;
  try {
    await to?.write(copy, end);
    from?.consumed(copy.length);
  } catch (error) {
    if (!(error instanceof StreamEnded)) throw error;
  }
}

function openSocket(connection: Connection, masking: "bare" | "zero", getMux: () => Mux): FrameSocket {
  return new FrameSocket({
    connection,
    masking,
    peer: "the other node",
    onPayload: (bytes, start, end) => getMux().receive(bytes, start, end),
    onEnd: (reason) => getMux().end(GoAwayReason.lost, reason),
    onDefect: (error) => {
      throw error;
    },
  });
}

async function readLine(connection: Connection): Promise<string> {
  let text = "";
  for (const byte = new Uint8Array(1); !text.endsWith("\n");) {
    if (await connection.read(byte) === null) return "";
    text += String.fromCharCode(byte[0]);
  }
  return text.slice(0, -1);
}

function toConnection(connection: Deno.TcpConn): Connection {
  return {
    read: (into) => connection.read(into),
    async write(bytes) {
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    },
    closeWrite: () => connection.closeWrite(),
    close: () => connection.close(),
  };
}
