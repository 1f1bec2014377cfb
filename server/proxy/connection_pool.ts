import { TargetConnection } from "./target_connection.ts";

/** Connections kept for the next request, all targets together. */
const MAX_IDLE = 1024;
/** How long one is kept. Many servers close after 5 s of silence. */
const IDLE_MS = 4000;

/** Keeps connections that can carry another request. */
export class ConnectionPool {
  /** By origin, the one used last at the end. */
  readonly #idle = new Map<string, TargetConnection[]>();
  #count = 0;
  #closed = false;
  readonly #sweeper = setInterval(() => this.#closeIdle(performance.now() - IDLE_MS), IDLE_MS / 2);

  /** A connection to that origin, or null. */
  take(origin: string): TargetConnection | null {
    const list = this.#idle.get(origin);
    const connection = list?.pop();
    if (connection === undefined) return null;
    this.#count--;
    return connection;
  }

  /** Takes a connection back whose answer has been read to its end. */
  release(origin: string, connection: TargetConnection): void {
    if (this.#closed || this.#count >= MAX_IDLE) return connection.close();
    connection.idleSince = performance.now();
    const list = this.#idle.get(origin);
    if (list) list.push(connection);
    else this.#idle.set(origin, [connection]);
    this.#count++;
    connection.watch(() => this.#drop(origin, connection));
  }

  /** Closes the idle ones, and those in use when they are released. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.#closeIdle(Infinity);
  }

  /** What ends while it is idle. A connection that is in use is not in the list and takes care of itself. */
  #drop(origin: string, connection: TargetConnection): void {
    const list = this.#idle.get(origin);
    const at = list?.indexOf(connection) ?? -1;
    if (at < 0) return;
    list?.splice(at, 1);
    this.#count--;
    connection.close();
  }

  #closeIdle(before: number): void {
    for (const [origin, list] of this.#idle) {
      const old = list.findIndex((one) => one.idleSince > before);
      const gone = list.splice(0, old === -1 ? list.length : old);
      this.#count -= gone.length;
      for (const connection of gone) connection.close();
      if (list.length === 0) this.#idle.delete(origin);
    }
  }
}
