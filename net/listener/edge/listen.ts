import { readFileSync } from "node:fs";
import process from "node:process";
import { type Accepted, type Acceptor, type Certificate, openAcceptor } from "../../connection/mod.ts";
import { delay } from "../../../common/delay.ts";
import { describeError } from "../../../common/log.ts";
import { networkOf } from "../../forwarded.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "../limits.ts";
import type { ListenerTraffic } from "../traffic.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "../types.ts";
import { EdgeConnection, type ListenerContext } from "./connection.ts";
import { type Http2Front, openHttp2 } from "./http2/connection.ts";

/** The only timer for all connections. */
const SWEEP_MS = 1000;
/** Delay between attempts to accept without free descriptors. */
const REACCEPT_MS = 50;
/** Ticks between two log lines about it. */
const FAILURE_TICKS = 10;
/** Share to end at once when connections run out, because finding the longest idle visits all. */
const EVICTED_SHARE = 1 / 16;
/** Extra connections without free capacity: for requests that {@link Exchange.isOverLimit} admits. */
const RESERVED = 32;

/** Calls `turn` once a second until the returned function is called. */
export type Clock = (turn: () => void) => () => void;

const everySecond: Clock = (turn) => {
  const timer = setInterval(turn, SWEEP_MS);
  return () => clearInterval(timer);
};

/**
 * Listens with our own socket reader on either runtime: strict, with limits, and byte responses.
 * @param clock for all time limits, which tests control
 * @throws the system's error for an unavailable address
 */
export async function listenEdge(
  options: ListenOptions,
  handler: ExchangeHandler,
  clock: Clock = everySecond,
): Promise<Listener> {
  const { hostname, port, tls } = options;
  const protocols = ["h2", "http/1.1"];
  const acceptor = await openAcceptor({ hostname, port, tls: tls && { ...tls, protocols } });
  try {
    const http2 = tls === undefined ? null : openHttp2(options, handler);
    return new EdgeListener(acceptor, options, handler, http2, clock);
  } catch (error) {
    acceptor.close();
    throw error;
  }
}

class EdgeListener implements Listener, ListenerContext {
  readonly hostname: string;
  readonly port: number;
  readonly limits: ListenerLimits;
  readonly traffic: ListenerTraffic | null;
  readonly handler: ExchangeHandler;
  readonly log: ListenOptions["log"];
  tick = 0;
  #isClosing = false;
  readonly #acceptor: Acceptor;
  readonly #http2: Http2Front | null;
  readonly #isTrusted: (address: string) => boolean;
  readonly #secure: boolean;
  readonly #connections = new Set<EdgeConnection>();
  readonly #perNetwork = new Map<string, number>();
  readonly #stopClock: () => void;
  /** Networks, or "" for all, without an idle connection since the last sweep. */
  readonly #busy = new Set<string>();
  readonly #ended = new AbortController();
  #drained: (() => void) | null = null;
  /** Tick of the last logged accept failure. */
  #failedAt = -Infinity;

  constructor(
    acceptor: Acceptor,
    options: ListenOptions,
    handler: ExchangeHandler,
    http2: Http2Front | null,
    clock: Clock,
  ) {
    this.#acceptor = acceptor;
    this.#http2 = http2;
    this.handler = handler;
    this.log = options.log;
    this.hostname = acceptor.hostname;
    this.port = acceptor.port;
    this.traffic = options.traffic ?? null;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.limits.maxConnections = Math.min(this.limits.maxConnections, readConnectionLimit());
    this.#isTrusted = options.isTrusted ?? (() => false);
    this.#secure = options.tls !== undefined;
    this.#stopClock = clock(() => this.#sweep());
    void this.#acceptAll();
  }

  get connections(): number {
    return this.#connections.size;
  }

  forget(connection: EdgeConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#countFor(connection.network, -1);
    this.#settleDrain();
  }

  setCertificate(pem: Certificate): void {
    this.#acceptor.setCertificate(pem);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#acceptor.close();
    for (const connection of this.#connections) connection.stop();
    await Promise.all([
      this.#http2?.close(),
      new Promise<void>((resolve) => {
        this.#drained = resolve;
        this.#settleDrain();
      }),
    ]);
    this.#end();
  }

  abort(): void {
    this.#isClosing = true;
    this.#acceptor.close();
    this.#http2?.abort();
    for (const connection of this.#connections) connection.close();
    this.#end();
  }

  #end(): void {
    this.#stopClock();
    this.#ended.abort();
  }

  #settleDrain(): void {
    if (this.#drained === null) return;
    for (const connection of this.#connections) if (!connection.isUpgraded) return;
    this.#drained();
  }

  async #acceptAll(): Promise<void> {
    for (;;) {
      try {
        const accepted = await this.#acceptor.accept();
        if (accepted === null) return;
        this.#take(accepted);
      } catch (error) {
        if (this.#isClosing) return;
        this.#noteFailure(error);
        this.#evict(ALL);
        await delay(REACCEPT_MS, this.#ended.signal);
      }
    }
  }

  #noteFailure(error: unknown): void {
    if (this.tick - this.#failedAt < FAILURE_TICKS) return;
    this.#failedAt = this.tick;
    this.log.warn("accept_failed", { reason: describeError(error), connections: this.#connections.size });
  }

  #take({ connection: socket, remoteAddress, handshake }: Accepted): void {
    if (this.#isClosing) return socket.close();
    const network = networkOf(remoteAddress);
    const room = this.#makeRoom(network, remoteAddress);
    if (room === "none") return socket.close();
    const watched = this.traffic?.watch(socket) ?? socket;
    const connection = new EdgeConnection(this, watched, remoteAddress, network, this.#secure);
    connection.isOverLimit = room === "reserved";
    this.#connections.add(connection);
    this.#countFor(network, 1);
    if (!this.#secure) return connection.start();
    handshake().then(
      (protocol) => connection.startSecured(protocol === "h2" ? this.#http2 : null),
      () => connection.close(),
    );
  }

  /** Makes space for one more. The longest idle are ended first, and never a running exchange. */
  #makeRoom(network: string, address: string): "open" | "reserved" | "none" {
    const { maxConnections, maxConnectionsPerAddress } = this.limits;
    if ((this.#perNetwork.get(network) ?? 0) >= maxConnectionsPerAddress && !this.#isTrusted(address)) {
      if (!this.#evict(network)) return "none";
    }
    const taken = this.#connections.size;
    if (taken < maxConnections || this.#evict(ALL)) return "open";
    return taken < maxConnections + RESERVED ? "reserved" : "none";
  }

  /** Ends a share of a network's idle connections, longest idle first. Returns whether there were any. */
  #evict(network: string): boolean {
    // A flood of new connections is refused without visiting all others each time.
    if (this.#busy.has(network)) return false;
    const idle: EdgeConnection[] = [];
    for (const connection of this.#connections) {
      if (connection.isIdle && (network === ALL || connection.network === network)) idle.push(connection);
    }
    if (idle.length === 0) this.#busy.add(network);
    // A visitor between requests loses no data, unlike one that is about to send its first.
    idle.sort((a, b) => Number(b.isKept) - Number(a.isKept) || a.since - b.since);
    const count = Math.ceil(idle.length * EVICTED_SHARE);
    for (let index = 0; index < count; index++) idle[index].close();
    return count > 0;
  }

  #countFor(network: string, change: number): void {
    const count = (this.#perNetwork.get(network) ?? 0) + change;
    if (count > 0) this.#perNetwork.set(network, count);
    else this.#perNetwork.delete(network);
  }

  #sweep(): void {
    this.tick++;
    this.#busy.clear();
    for (const connection of this.#connections) connection.check(this.limits);
  }
}

/** Represents all networks. */
const ALL = "";

/** Descriptors for files, databases and outgoing calls, and for refused connections. */
const SPARE = 640;
/** Minimum for connections when descriptors are few. */
const LEAST_SHARE = 0.25;
/** Descriptors where the system reports none: both runtimes raise the limit to this on macOS. */
const ON_MAC = 10_240;
/** Windows has no relevant limit. */
const FALLBACK = 100_000;

/**
 * Returns the number of connections that fit the process's descriptors. Beyond it accepting fails, and on Deno
 * node:http never accepts again.
 */
export function readConnectionLimit(): number {
  return computeConnectionLimit(readLimits(), process.platform);
}

/** {@link readConnectionLimit} from Linux's `/proc/self/limits`, or null elsewhere. */
export function computeConnectionLimit(limits: string | null, platform: string): number {
  const [, told] = /^Max open files +(\d+)/m.exec(limits ?? "") ?? [];
  const descriptors = told ?? (platform === "darwin" ? ON_MAC : null);
  if (descriptors === null) return FALLBACK;
  return Math.floor(Math.max(Number(descriptors) - SPARE, Number(descriptors) * LEAST_SHARE));
}

function readLimits(): string | null {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    return null;
  }
}
