import { coarseNow } from "../../common/event_loop.ts";
import type { Connection } from "../connection/mod.ts";
import { type Reader, UpstreamConnection } from "./connection.ts";
import type { Ending } from "./types.ts";

/** What strangers cannot make grow beyond. */
export interface PoolLimits {
  /** Connections open of one key; further requests wait for one of them. */
  perKey: number;
  /** Of these, being opened at a time; further requests wait for one of them, or for one that another is done with. */
  dialing: number;
  /**
   * Of these, being opened, or opened with nothing heard on them yet; further requests wait likewise. A system opens
   * connections that its program has not accepted yet, and whoever comes then waits behind all of them.
   */
  unheard: number;
  /** Milliseconds after which a connection does not count as unheard any more. */
  unheardMs: number;
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
  /** Being opened. */
  dialing: number;
  /** Opened, with nothing heard on them yet, and until when they count; the oldest first. */
  readonly unheard: Map<UpstreamConnection, number>;
  /** Looks whether more may be opened, while somebody waits for that. */
  timer: ReturnType<typeof setTimeout> | undefined;
  /** The one used last at the end. */
  readonly idle: UpstreamConnection[];
  /** Requests that wait for one. */
  readonly waiting: FairQueue<Waiting>;
}

/** A request that waits: for a connection that another was done with, or for leave to open one, which is null. */
interface Waiting {
  resolve(connection: UpstreamConnection | null): void;
  reject(error: unknown): void;
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
   * A new connection, made by `dial`; or one that another request was done with meanwhile, where as many are open or
   * being opened of the key as may be.
   * @param ending of the request that may have to wait
   * @param whose it is: those who wait take turns
   * @throws PoolExhausted when there was none until the request had to end, or where as many are open altogether as may
   * be; and what `dial` throws
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

  /** Takes a connection back whose answer has been read to its end. */
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

  /** Closes the idle ones, and those in use when they are released. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const { timer } of this.#peers.values()) clearTimeout(timer);
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
    // Most answers come whole: then this one is free for who waits, before another is opened.
    if (peer?.unheard.delete(connection) && peer.waiting.size > 0) queueMicrotask(() => this.#letDial(peer));
  };

  #countDial(peer: Peer): void {
    peer.open++;
    peer.dialing++;
    this.#open++;
  }

  /** Has those who wait open connections of their own, as many as may. */
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

  /** Does so again once the oldest that nothing was heard on counts no more. */
  #letDialLater(peer: Peer): void {
    if (peer.timer !== undefined || this.#closed || this.#countUnheard(peer) === 0) return;
    const [until] = peer.unheard.values();
    peer.timer = setTimeout(() => {
      peer.timer = undefined;
      this.#letDial(peer);
    }, Math.max(1, until - performance.now()));
  }

  /** Takes leave back: the connection was closed. */
  readonly #giveUp = (connection: UpstreamConnection): void => {
    const peer = this.#peerOf(connection.key);
    peer.unheard.delete(connection);
    this.#forget(connection.key, peer);
  };

  /** One that was open, or being opened, is not any more. */
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

  /** Where all may be open are, an idle one makes way. */
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

/**
 * Those who wait, by whose they are: each in turn gets one, the first of theirs. So nobody waits for more than one of
 * each of the others, however many those have.
 */
export class FairQueue<T> {
  /** By whose they are, whoever's turn is next first. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds one at the end of those of `whose`. */
  push(whose: string, item: T): void {
    const line = this.#lines.get(whose);
    if (line === undefined) this.#lines.set(whose, [item]);
    else line.push(item);
    this.#size++;
  }

  /** Takes whoever's turn it is. */
  shift(): T | undefined {
    for (const [whose, line] of this.#lines) {
      const item = line.shift();
      this.#lines.delete(whose);
      if (line.length > 0) this.#lines.set(whose, line);
      this.#size--;
      return item;
    }
  }

  /** Removes one that waits no longer. No effect when it has been taken. */
  delete(whose: string, item: T): void {
    const line = this.#lines.get(whose), at = line?.indexOf(item) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(whose);
    this.#size--;
  }
}
