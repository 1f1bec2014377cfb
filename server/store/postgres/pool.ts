import type { DatabaseConnection } from "kysely";
import { StoreUnavailable } from "../errors.ts";
import type { PostgresConnection } from "./connection.ts";

/** Waiting callers, far more than a responsive database lets accumulate. */
const MAX_WAITING = 1000;
const WAIT_MS = 10_000;

/** A caller that waits for a connection. */
interface Waiting {
  resolve(connection: PostgresConnection): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

/** Opens connections on demand up to a maximum, and keeps them. */
export class Pool {
  readonly #open: () => PostgresConnection;
  readonly #max: number;
  readonly #all = new Set<PostgresConnection>();
  readonly #idle: PostgresConnection[] = [];
  readonly #waiting = new Set<Waiting>();
  #isEnded = false;

  constructor(max: number, open: () => PostgresConnection) {
    this.#max = max;
    this.#open = open;
  }

  /** Reserves a connection until its release. @throws StoreUnavailable when the wait takes too long */
  acquire(): Promise<PostgresConnection> {
    const connection = this.#take();
    if (connection !== null) return Promise.resolve(connection);
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(new StoreUnavailable("the database is too busy"));
    return new Promise((resolve, reject) => {
      const waiting = { resolve, reject, timer: setTimeout(() => this.#giveUp(waiting), WAIT_MS) };
      this.#waiting.add(waiting);
    });
  }

  /** Takes a connection back, and closes a broken one. */
  release(connection: DatabaseConnection): void {
    const known = [...this.#all].find((one) => one === connection);
    if (known === undefined) return;
    if (known.isLost) this.#forget(known);
    else this.#idle.push(known);
    for (const waiting of this.#waiting) {
      const next = this.#take();
      if (next === null) return;
      this.#settle(waiting);
      waiting.resolve(next);
    }
  }

  /** Closes all connections after running queries finished, or after some seconds. */
  async end(): Promise<void> {
    this.#isEnded = true;
    for (const waiting of this.#waiting) this.#giveUp(waiting);
    await Promise.all([...this.#all].map((connection) => connection.end()));
  }

  #take(): PostgresConnection | null {
    if (this.#isEnded) throw new StoreUnavailable("the database is closed");
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isLost) return idle;
      this.#forget(idle);
    }
    if (this.#all.size >= this.#max) return null;
    const fresh = this.#open();
    this.#all.add(fresh);
    return fresh;
  }

  #forget(connection: PostgresConnection): void {
    this.#all.delete(connection);
    void connection.end();
  }

  #giveUp(waiting: Waiting): void {
    this.#settle(waiting);
    waiting.reject(new StoreUnavailable("the database is too busy"));
  }

  #settle(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }
}
