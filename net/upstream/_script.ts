import { setImmediate } from "node:timers";
import type { Connect, Connection } from "../connection/mod.ts";

/** A connection whose peer is the test. */
export class ScriptedConnection implements Connection {
  /** Everything written, in order. */
  readonly written: Uint8Array[] = [];
  closed = false;
  /** Writes wait for {@link letWrite} while this is set. */
  holdWrites = false;
  /** Set when a write began before the one before it was done. */
  overlapped = false;
  /** Makes every write fail. */
  failWrites = false;
  readonly #incoming: Uint8Array[] = [];
  #ended = false;
  #reader: (() => void) | null = null;
  #writer: (() => void) | null = null;
  #writing = false;

  /** The peer sends. */
  send(data: string | Uint8Array): void {
    this.#incoming.push(typeof data === "string" ? latin1(data) : data);
    this.#wake();
  }

  /** The peer ends its side. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  letWrite(): void {
    this.holdWrites = false;
    this.#writer?.();
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#incoming.length === 0) {
      if (this.#ended || this.closed) return null;
      await new Promise<void>((resolve) => this.#reader = resolve);
    }
    const first = this.#incoming[0], count = Math.min(first.length, into.length);
    into.set(first.subarray(0, count));
    if (count < first.length) this.#incoming[0] = first.subarray(count);
    else this.#incoming.shift();
    return count;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.overlapped ||= this.#writing;
    if (this.failWrites || this.closed) throw new Error("broken pipe");
    this.#writing = true;
    this.written.push(bytes.slice());
    if (this.holdWrites) await new Promise<void>((resolve) => this.#writer = resolve);
    this.#writing = false;
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.closed = true;
    this.#wake();
  }

  /** Everything written, one character a byte. */
  get text(): string {
    return this.written.map((bytes) => String.fromCharCode(...bytes)).join("");
  }

  #wake(): void {
    const reader = this.#reader;
    this.#reader = null;
    reader?.();
  }
}

/** Text as bytes, one character a byte. */
export const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));

/** Connections that answer as a test has written them, and what became of them. */
export interface Script {
  connect: Connect;
  connections: ScriptedConnection[];
  /** Resolves when there have been that many connections. */
  whenConnected(count: number): Promise<void>;
}

/** A connector that hands out scripted connections, in order. */
export function scriptConnect(): Script {
  const connections: ScriptedConnection[] = [];
  let wake = () => {};
  return {
    connections,
    connect() {
      const connection = new ScriptedConnection();
      connections.push(connection);
      wake();
      return Promise.resolve(connection);
    },
    async whenConnected(count) {
      while (connections.length < count) await new Promise<void>((resolve) => wake = resolve);
    },
  };
}

/** Resolves when all that is due now has been done. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 10; count++) await new Promise((resolve) => setImmediate(resolve));
}
