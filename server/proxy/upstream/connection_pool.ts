import type { Connection } from "../../../common/connection/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { TargetConnection } from "./target_connection.ts";
import type { ConnectionLimits, Ending } from "./types.ts";

/** Many servers close a connection after 5 s of silence; some say so. */
export const DEFAULT_LIMITS: ConnectionLimits = { perTarget: 256, total: 4096, idleMs: 4000 };

/** Connections of one target, by its key. */
interface Target {
  /** Open or being opened. */
  open: number;
  /** The one used last at the end. */
  readonly idle: TargetConnection[];
  /** Requests that wait for one, the first at the front. */
  readonly waiting: ((connection: TargetConnection | null) => void)[];
}

/** Counts connections to targets, and keeps those that can carry another request. */
export class ConnectionPool {
  readonly #limits: ConnectionLimits;
  /** Those with an open connection, or someone who waits for one. */
  readonly #targets = new Map<string, Target>();
  #open = 0;
  #closed = false;
  readonly #sweeper: ReturnType<typeof setInterval>;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#sweeper = setInterval(() => this.#closeIdle(performance.now()), limits.idleMs / 2);
  }

  /** A kept connection of that key, or null. */
  take(key: string): TargetConnection | null {
    return this.#targets.get(key)?.idle.pop() ?? null;
  }

  /**
   * Leave to open a connection, which {@link adopt} or {@link giveUp} uses up: null. Or a connection that another
   * request was done with meanwhile, where as many are open to the target as may be.
   * @throws HttpError 503 `target_busy` when none was until the request had to end, 503 `too_many_connections`
   */
  async reserve(key: string, ending: Ending): Promise<TargetConnection | null> {
    const known = this.#targets.get(key);
    if (known === undefined || known.open < this.#limits.perTarget) {
      this.#makeRoom();
      this.#targetOf(key).open++;
      this.#open++;
      return null;
    }
    return known.idle.pop() ?? await this.#wait(known, ending);
  }

  /** A connection that was opened with leave. */
  adopt(key: string, connection: Connection): TargetConnection {
    return new TargetConnection(connection, key, () => this.giveUp(key));
  }

  /** Takes leave back: the connection was closed, or never opened. */
  giveUp(key: string): void {
    const target = this.#targetOf(key);
    // Who waits opens one of its own in the place of this one.
    const next = target.waiting.shift();
    if (next !== undefined) return next(null);
    target.open--;
    this.#open--;
    if (target.open === 0) this.#targets.delete(key);
  }

  /** Takes a connection back whose answer has been read to its end. */
  release(connection: TargetConnection): void {
    if (this.#closed || connection.keepMs <= 0) return connection.close();
    const target = this.#targetOf(connection.key);
    connection.watch(() => this.#drop(connection));
    const next = target.waiting.shift();
    if (next !== undefined) return next(connection);
    connection.idleSince = performance.now();
    target.idle.push(connection);
  }

  /** Closes the idle ones, and those in use when they are released. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.#closeIdle(Infinity);
  }

  #targetOf(key: string): Target {
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = { open: 0, idle: [], waiting: [] };
      this.#targets.set(key, target);
    }
    return target;
  }

  /** Where all may be open are, an idle one makes way. */
  #makeRoom(): void {
    if (this.#open < this.#limits.total) return;
    for (const { idle } of this.#targets.values()) {
      const oldest = idle.shift();
      if (oldest !== undefined) return oldest.close();
    }
    throw new HttpError(503, "too_many_connections", "This proxy has as many connections open as it may.", {
      headers: { "retry-after": "1" },
    });
  }

  #wait(target: Target, ending: Ending): Promise<TargetConnection | null> {
    return new Promise((resolve, reject) => {
      const take = (connection: TargetConnection | null) => {
        ending.onEnd(null);
        resolve(connection);
      };
      target.waiting.push(take);
      ending.onEnd(() => {
        const at = target.waiting.indexOf(take);
        if (at >= 0) target.waiting.splice(at, 1);
        reject(targetBusy(this.#limits.perTarget));
      });
    });
  }

  /** What ends while it is idle. A connection that is in use takes care of itself. */
  #drop(connection: TargetConnection): void {
    const idle = this.#targets.get(connection.key)?.idle;
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return;
    idle?.splice(at, 1);
    connection.close();
  }

  #closeIdle(now: number): void {
    for (const { idle } of this.#targets.values()) {
      const isOld = (one: TargetConnection) => now - one.idleSince >= Math.min(this.#limits.idleMs, one.keepMs);
      for (const connection of idle.filter(isOld)) this.#drop(connection);
    }
  }
}

function targetBusy(perTarget: number): HttpError {
  return new HttpError(503, "target_busy", `All ${perTarget} connections to the target were in use.`, {
    headers: { "retry-after": "1" },
  });
}
