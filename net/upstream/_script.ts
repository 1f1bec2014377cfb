import { setImmediate } from "node:timers";
import type { Connect, Connection } from "../connection/mod.ts";

/** A connection with the test as its peer. */
export class ScriptedConnection implements Connection {
  /** All written bytes, in order. */
  readonly written: Uint8Array[] = [];
  closed = false;
  /** Writes wait for {@link letWrite} while this is set. */
  holdWrites = false;
  /** Set when a write began before the previous one finished. */
  overlapped = false;
  /** Makes every write fail. */
  failWrites = false;
  readonly #incoming: Uint8Array[] = [];
  #ended = false;
  #reader: (() => void) | null = null;
  #writer: (() => void) | null = null;
  #writing = false;

  /** Sends bytes from the peer. */
  send(data: string | Uint8Array): void {
    this.#incoming.push(typeof data === "string" ? latin1(data) : data);
    this.#wake();
  }

  /** Ends the peer's side. */
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

  /** All written bytes, one character each. */
  get text(): string {
    return this.written.map((bytes) => String.fromCharCode(...bytes)).join("");
  }

  #wake(): void {
    const reader = this.#reader;
    this.#reader = null;
    reader?.();
  }
}

/** Encodes text, one byte per character. */
export const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));

/** Connections with scripted responses, and their records. */
export interface Script {
  connect: Connect;
  connections: ScriptedConnection[];
  /** Resolves after that many connections. */
  whenConnected(count: number): Promise<void>;
}

/** A connector that returns scripted connections in order. */
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

/** Resolves after all due work. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 10; count++) await new Promise((resolve) => setImmediate(resolve));
}
