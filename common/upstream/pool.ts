import type { Connection } from "../connection/mod.ts";
import { type Reader, UpstreamConnection } from "./connection.ts";
import type { Ending } from "./types.ts";

/** What strangers cannot make grow beyond. */
export interface PoolLimits {
  /** Connections open of one key; further requests wait for one of them. */
  perKey: number;
  /** Connections open altogether, idle ones included; further requests are refused. */
  total: number;
  /** Connections of one key kept for the next request. */
  idlePerKey: number;
  /** Milliseconds that one is kept. */
  idleMs: number;
}

/** There is no connection to be had: all of one key are in use, or all there may be. */
export class PoolExhausted extends Error {
  override name = "PoolExhausted";
  readonly of: "key" | "all";
  /** How many there may be. */
  readonly limit: number;

  constructor(of: "key" | "all", limit: number) {
    super(`all ${limit} connections are in use`);
    this.of = of;
    this.limit = limit;
  }
}

/** Connections that take each other's place: those to one origin, opened in one way. */
interface Peer {
  /** Open or being opened. */
  open: number;
  /** The one used last at the end. */
  readonly idle: UpstreamConnection[];
  /** Requests that wait for one, the first at the front. */
  readonly waiting: ((connection: UpstreamConnection | null) => void)[];
}

/** Counts connections to upstreams, and keeps those that can carry another request. Whoever creates it closes it. */
export class UpstreamPool {
  readonly #limits: PoolLimits;
  /** Those with an open connection, or someone who waits for one. */
  readonly #peers = new Map<string, Peer>();
  #open = 0;
  #closed = false;
  readonly #sweeper: ReturnType<typeof setInterval>;
  /** An idle connection has nothing to say. */
  readonly #watcher: Reader = {
    onRead: (connection) => this.#drop(connection),
    onBroken: (connection) => this.#drop(connection),
  };

  constructor(limits: PoolLimits) {
    this.#limits = limits;
    this.#sweeper = setInterval(() => this.closeIdle(performance.now()), limits.idleMs / 2);
  }

  /** A kept connection of that key, the one used last, or null. */
  take(key: string): UpstreamConnection | null {
    return this.#peers.get(key)?.idle.pop() ?? null;
  }

  /**
   * A new connection, made by `dial`; or one that another request was done with meanwhile, where as many are open of the
   * key as may be.
   * @param ending of the request that may have to wait; left out where there is no limit to a key
   * @throws PoolExhausted when there was none until the request had to end, or where as many are open altogether as may
   * be; and what `dial` throws
   */
  async open(key: string, dial: () => Promise<Connection>, ending: Ending = NEVER): Promise<UpstreamConnection> {
    const kept = await this.#reserve(key, ending);
    if (kept !== null) return kept;
    try {
      return new UpstreamConnection(await dial(), key, this.#giveUp);
    } catch (error) {
      this.#giveUp({ key });
      throw error;
    }
  }

  /** Takes a connection back whose answer has been read to its end. */
  release(connection: UpstreamConnection): void {
    const peer = this.#peerOf(connection.key);
    const isTooMany = peer.idle.length >= this.#limits.idlePerKey;
    if (this.#closed || connection.keepMs <= 0 || isTooMany) return connection.close();
    connection.watch(this.#watcher);
    const next = peer.waiting.shift();
    if (next !== undefined) return next(connection);
    connection.idleSince = performance.now();
    peer.idle.push(connection);
  }

  /** Closes the idle ones, and those in use when they are released. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.closeIdle(Infinity);
  }

  /** Closes those that have been idle for as long as they may by `now`, of `performance.now()`. */
  closeIdle(now: number): void {
    for (const { idle } of this.#peers.values()) {
      const isOld = (one: UpstreamConnection) => now - one.idleSince >= Math.min(this.#limits.idleMs, one.keepMs);
      for (const connection of idle.filter(isOld)) this.#drop(connection);
    }
  }

  /** Leave to open a connection: null; or another's. */
  #reserve(key: string, ending: Ending): UpstreamConnection | null | Promise<UpstreamConnection | null> {
    const known = this.#peers.get(key);
    if (known === undefined || known.open < this.#limits.perKey) {
      this.#makeRoom();
      this.#peerOf(key).open++;
      this.#open++;
      return null;
    }
    return known.idle.pop() ?? this.#wait(known, ending);
  }

  /** Takes leave back: the connection was closed, or never opened. */
  readonly #giveUp = ({ key }: { readonly key: string }): void => {
    const peer = this.#peerOf(key);
    // Who waits opens one of its own in the place of this one.
    const next = peer.waiting.shift();
    if (next !== undefined) return next(null);
    peer.open--;
    this.#open--;
    if (peer.open === 0) this.#peers.delete(key);
  };

  #peerOf(key: string): Peer {
    let peer = this.#peers.get(key);
    if (peer === undefined) {
      peer = { open: 0, idle: [], waiting: [] };
      this.#peers.set(key, peer);
    }
    return peer;
  }

  /** Where all may be open are, an idle one makes way. */
  #makeRoom(): void {
    if (this.#open < this.#limits.total) return;
    for (const { idle } of this.#peers.values()) {
      const oldest = idle.shift();
      if (oldest !== undefined) return oldest.close();
    }
    throw new PoolExhausted("all", this.#limits.total);
  }

  #wait(peer: Peer, ending: Ending): Promise<UpstreamConnection | null> {
    return new Promise((resolve, reject) => {
      const take = (connection: UpstreamConnection | null) => {
        ending.onEnd(null);
        resolve(connection);
      };
      peer.waiting.push(take);
      ending.onEnd(() => {
        const at = peer.waiting.indexOf(take);
        if (at >= 0) peer.waiting.splice(at, 1);
        reject(new PoolExhausted("key", this.#limits.perKey));
      });
    });
  }

  /** What ends while it is idle. A connection that is in use takes care of itself. */
  #drop(connection: UpstreamConnection): void {
    const idle = this.#peers.get(connection.key)?.idle;
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return;
    idle?.splice(at, 1);
    connection.close();
  }
}

const NEVER: Ending = { reason: null, onEnd() {} };
