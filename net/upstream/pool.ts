import { coarseNow } from "../../common/event_loop.ts";
import type { Connection } from "../connection/mod.ts";
import { type Reader, UpstreamConnection } from "./connection.ts";
import type { Ending } from "./types.ts";

/** Limits that clients cannot exceed. */
export interface PoolLimits {
  /** Open connections per key; further requests wait. */
  perKey: number;
  /** Connections per key that are being opened; further requests wait for one, or for a released one. */
  dialing: number;
  /**
   * Connections per key that are opening, or open without a response so far; further requests wait. A system opens
   * connections before its program accepts them, and a new request would wait behind all of them.
   */
  unheard: number;
  /** Milliseconds until a silent connection no longer counts. */
  unheardMs: number;
  /** Open connections in total, including idle ones; further requests are refused. */
  total: number;
  /** Idle connections kept per key. */
  idlePerKey: number;
  /** Lifetime of an idle connection, in milliseconds. */
  idleMs: number;
}

/** No connection is available: the limit per key or in total is reached. */
export class PoolExhausted extends Error {
  override name = "PoolExhausted";
  readonly of: "key" | "all";
  /** The limit. */
  readonly limit: number;

  constructor(of: "key" | "all", limit: number) {
    super(`all ${limit} connections are in use`);
    this.of = of;
    this.limit = limit;
  }
}

/** Interchangeable connections: one origin, opened in one way. */
interface Peer {
  /** Open or opening. */
  open: number;
  /** Opening. */
  dialing: number;
  /** Silent connections with the time until which they count, oldest first. */
  readonly unheard: Map<UpstreamConnection, number>;
  /** Checks for free capacity while requests wait. */
  timer: ReturnType<typeof setTimeout> | undefined;
  /** The most recently used is last. */
  readonly idle: UpstreamConnection[];
  /** Waiting requests. */
  readonly waiting: FairQueue<Waiting>;
}

/** A waiting request. Gets a released connection, or null as permission to open one. */
interface Waiting {
  resolve(connection: UpstreamConnection | null): void;
  reject(error: unknown): void;
}

/** Counts upstream connections, and keeps reusable ones. The creator closes it. */
export class UpstreamPool {
  readonly #limits: PoolLimits;
  /** Peers with an open connection or a waiting request. */
  readonly #peers = new Map<string, Peer>();
  #open = 0;
  #closed = false;
  readonly #sweeper: ReturnType<typeof setInterval>;
  /** An idle connection has no data to deliver. */
  readonly #watcher: Reader = {
    onRead: (connection) => this.#drop(connection),
    onBroken: (connection) => this.#drop(connection),
  };

  constructor(limits: PoolLimits) {
    this.#limits = limits;
    this.#sweeper = setInterval(() => this.closeIdle(performance.now()), limits.idleMs / 2);
  }

  /** Returns the most recently used idle connection for a key, or null. */
  take(key: string): UpstreamConnection | null {
    return this.#peers.get(key)?.idle.pop() ?? null;
  }

  /**
   * Returns a new connection from `dial`, or a released one if the key has reached its limit.
   * @param ending ends a request that has to wait
   * @param whose identifies the requester: requesters take turns
   * @throws PoolExhausted when none became free in time, or at the total limit; and errors from `dial`
   */
  async open(
    key: string,
    dial: () => Promise<Connection>,
    ending: Ending = NEVER,
    whose = "",
  ): Promise<UpstreamConnection> {
    const kept = await this.#reserve(key, ending, whose);
    if (kept !== null) return kept;
    const peer = this.#peerOf(key);
    try {
      const connection = new UpstreamConnection(await dial(), key, this.#giveUp, this.#onHeard);
      peer.dialing--;
      peer.unheard.set(connection, performance.now() + this.#limits.unheardMs);
      this.#letDial(peer);
      return connection;
    } catch (error) {
      peer.dialing--;
      this.#forget(key, peer);
      throw error;
    }
  }

  /** Takes a connection back after a complete response. */
  release(connection: UpstreamConnection): void {
    const peer = this.#peerOf(connection.key);
    const isTooMany = peer.idle.length >= this.#limits.idlePerKey;
    if (this.#closed || connection.keepMs <= 0 || isTooMany) return connection.close();
    connection.watch(this.#watcher);
    const next = peer.waiting.shift();
    if (next !== undefined) return next.resolve(connection);
    connection.idleSince = coarseNow();
    peer.idle.push(connection);
  }

  /** Closes idle connections now, and others when they are released. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const { timer } of this.#peers.values()) clearTimeout(timer);
    this.closeIdle(Infinity);
  }

  /** Closes connections that have been idle for too long at `now`, from `performance.now()`. */
  closeIdle(now: number): void {
    for (const { idle } of this.#peers.values()) {
      const isOld = (one: UpstreamConnection) => now - one.idleSince >= Math.min(this.#limits.idleMs, one.keepMs);
      for (const connection of idle.filter(isOld)) this.#drop(connection);
    }
  }

  /** Returns permission to open a connection (null), or a released one. */
  #reserve(
    key: string,
    ending: Ending,
    whose: string,
  ): UpstreamConnection | null | Promise<UpstreamConnection | null> {
    const known = this.#peers.get(key);
    if (known !== undefined && !this.#mayDial(known)) return known.idle.pop() ?? this.#wait(known, ending, whose);
    this.#makeRoom();
    this.#countDial(this.#peerOf(key));
    return null;
  }

  #mayDial(peer: Peer): boolean {
    const { perKey, dialing, unheard } = this.#limits;
    return peer.open < perKey && peer.dialing < dialing && peer.dialing + this.#countUnheard(peer) < unheard;
  }

  #countUnheard({ unheard }: Peer): number {
    const now = performance.now();
    for (const [connection, until] of unheard) {
      if (until > now) break;
      unheard.delete(connection);
    }
    return unheard.size;
  }

  /** The upstream has accepted it. */
  readonly #onHeard = (connection: UpstreamConnection): void => {
    const peer = this.#peers.get(connection.key);
    // Most responses are short: then this connection is soon free for a waiting request.
    if (peer?.unheard.delete(connection) && peer.waiting.size > 0) queueMicrotask(() => this.#letDial(peer));
  };

  #countDial(peer: Peer): void {
    peer.open++;
    peer.dialing++;
    this.#open++;
  }

  /** Lets waiting requests open connections, within the limits. */
  #letDial(peer: Peer): void {
    while (peer.waiting.size > 0 && this.#mayDial(peer)) {
      const next = peer.waiting.shift();
      try {
        this.#makeRoom();
      } catch (error) {
        next?.reject(error);
        continue;
      }
      this.#countDial(peer);
      next?.resolve(null);
    }
    if (peer.waiting.size > 0) this.#letDialLater(peer);
  }

  /** Repeats this once the oldest silent connection no longer counts. */
  #letDialLater(peer: Peer): void {
    if (peer.timer !== undefined || this.#closed || this.#countUnheard(peer) === 0) return;
    const [until] = peer.unheard.values();
    peer.timer = setTimeout(() => {
      peer.timer = undefined;
      this.#letDial(peer);
    }, Math.max(1, until - performance.now()));
  }

  /** Withdraws permission after the connection closed. */
  readonly #giveUp = (connection: UpstreamConnection): void => {
    const peer = this.#peerOf(connection.key);
    peer.unheard.delete(connection);
    this.#forget(connection.key, peer);
  };

  /** Removes an open or opening connection from the counts. */
  #forget(key: string, peer: Peer): void {
    peer.open--;
    this.#open--;
    this.#letDial(peer);
    if (peer.open > 0) return;
    clearTimeout(peer.timer);
    this.#peers.delete(key);
  }

  #peerOf(key: string): Peer {
    let peer = this.#peers.get(key);
    if (peer === undefined) {
      peer = { open: 0, dialing: 0, unheard: new Map(), timer: undefined, idle: [], waiting: new FairQueue() };
      this.#peers.set(key, peer);
    }
    return peer;
  }

  /** Closes an idle connection at the total limit. */
  #makeRoom(): void {
    if (this.#open < this.#limits.total) return;
    for (const { idle } of this.#peers.values()) {
      const oldest = idle.shift();
      if (oldest !== undefined) return oldest.close();
    }
    throw new PoolExhausted("all", this.#limits.total);
  }

  #wait(peer: Peer, ending: Ending, whose: string): Promise<UpstreamConnection | null> {
    return new Promise((resolve, reject) => {
      const waiting = {
        resolve(connection: UpstreamConnection | null) {
          ending.onEnd(null);
          resolve(connection);
        },
        reject(error: unknown) {
          ending.onEnd(null);
          reject(error);
        },
      };
      peer.waiting.push(whose, waiting);
      this.#letDialLater(peer);
      ending.onEnd(() => {
        peer.waiting.delete(whose, waiting);
        reject(new PoolExhausted("key", this.#limits.perKey));
      });
    });
  }

  /** Removes an idle connection that ended. Connections in use handle their own end. */
  #drop(connection: UpstreamConnection): void {
    const idle = this.#peers.get(connection.key)?.idle;
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return;
    idle?.splice(at, 1);
    connection.close();
  }
}

const NEVER: Ending = { reason: null, onEnd() {} };

/**
 * Waiting items by requester. Requesters take turns, each with its first item, so none waits for more than one item per
 * other requester.
 */
export class FairQueue<T> {
  /** By requester; the next turn is first. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  /** Number of waiting items. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item to a requester's queue. */
  push(whose: string, item: T): void {
    const line = this.#lines.get(whose);
    if (line === undefined) this.#lines.set(whose, [item]);
    else line.push(item);
    this.#size++;
  }

  /** Removes the next item. */
  shift(): T | undefined {
    for (const [whose, line] of this.#lines) {
      const item = line.shift();
      this.#lines.delete(whose);
      if (line.length > 0) this.#lines.set(whose, line);
      this.#size--;
      return item;
    }
  }

  /** Removes a waiting item. No effect after it was taken. */
  delete(whose: string, item: T): void {
    const line = this.#lines.get(whose), at = line?.indexOf(item) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(whose);
    this.#size--;
  }
}
