import { readFileSync } from "node:fs";
import { AUTHORITY } from "../programs/portway.ts";
import type { Endpoint } from "../programs/types.ts";
import type { Head } from "./heads.ts";

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** Space for a response head and for large bulk reads. */
const BUFFER_SIZE = 256 * 1024;

/** A visitor connection with the minimal HTTP/1.1 for measurements. */
export class VisitorConnection {
  readonly #conn: Deno.Conn;
  readonly #buffer = new Uint8Array(BUFFER_SIZE);

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  static async open(endpoint: Endpoint): Promise<VisitorConnection> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: endpoint.port });
    conn.setNoDelay(true);
    if (!endpoint.isSecure) return new VisitorConnection(conn);
    const caCerts = [readFileSync(AUTHORITY, "utf8")];
    return new VisitorConnection(await Deno.startTls(conn, { hostname: "localhost", caCerts }));
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  /**
   * Reads a response head.
   * @returns its text, and the body bytes after it
   * @throws Error when the connection ends first
   */
  async readHead(): Promise<{ text: string; status: number; rest: Uint8Array }> {
    for (let have = 0;;) {
      const count = await this.#conn.read(this.#buffer.subarray(have));
      if (count === null) throw new Error("the connection was closed without a response");
      have += count;
      const text = DECODER.decode(this.#buffer.subarray(0, have));
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) continue;
      const headSize = ENCODER.encode(text.slice(0, end + 4)).length;
      return {
        text: text.slice(0, end + 2),
        status: Number(text.slice(9, 12)),
        rest: this.#buffer.slice(headSize, have),
      };
    }
  }

  /** Reads the available bytes. The view is valid until the next read. Returns null at the end. */
  async read(): Promise<Uint8Array | null> {
    const count = await this.#conn.read(this.#buffer);
    return count === null ? null : this.#buffer.subarray(0, count);
  }

  /**
   * Reads a body to its end and drops it.
   * @returns its size
   * @throws Error when it is cut short
   */
  async drain(head: { text: string; rest: Uint8Array }): Promise<number> {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head.text)?.[1];
    const isOver = length === undefined
      ? createChunkedEnd()
      : (_piece: Uint8Array, size: number) => size >= Number(length);
    let size = head.rest.length;
    for (let piece: Uint8Array | null = head.rest; !isOver(piece, size);) {
      piece = await this.read();
      if (piece === null) throw new Error("the response was cut short");
      size += piece.length;
    }
    return size;
  }

  close(): void {
    this.#conn.close();
  }
}

/** A chunked body without trailers ends with these bytes. The test bodies do not contain them. */
function createChunkedEnd(): (piece: Uint8Array) => boolean {
  let tail = "";
  return (piece) => {
    tail = (tail + DECODER.decode(piece.subarray(-5))).slice(-5);
    return tail === "0\r\n\r\n";
  };
}

/** Returns a request head as bytes. */
export function encodeRequest(endpoint: Endpoint, method: string, path: string, head: Head = []): Uint8Array {
  const lines = [["Host", endpoint.host], ...head].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return ENCODER.encode(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`);
}
