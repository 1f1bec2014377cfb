import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";

/** A visitor that sends exact bytes. For tests. */
export interface RawClient {
  socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** Resolves with all received bytes, as Latin-1, once they match; rejects when the connection ends first. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all received bytes, as Latin-1, at the connection's end. */
  end(): Promise<string>;
}

/** Connects to a listener on this machine. */
export function connectRaw(port: number): RawClient {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let ended = false;
  let wake = () => {};
  const finish = () => {
    ended = true;
    wake();
  };
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    wake();
  });
  socket.on("end", finish).on("close", finish).on("error", finish);
  const change = () => new Promise<void>((resolve) => wake = resolve);
  return {
    socket,
    send: (bytes) => void socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes),
    async until(pattern) {
      while (!pattern.test(text)) {
        if (ended) throw new Error(`the connection ended before ${pattern}, after ${JSON.stringify(text)}`);
        await change();
      }
      return text;
    },
    async end() {
      while (!ended) await change();
      socket.destroy();
      return text;
    },
  };
}

/** Sends one request on its own connection, and returns the response. */
export async function exchangeRaw(port: number, bytes: string): Promise<string> {
  const client = connectRaw(port);
  client.send(bytes);
  return await client.end();
}

/** Returns a stream's SHA-256 in hex, and its size. */
export async function hashStream(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    length += chunk.length;
  }
  return `${length} ${hash.digest("hex")}`;
}
