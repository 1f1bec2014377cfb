import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";

/** A visitor that sends exactly the bytes it is told to. For tests. */
export interface RawClient {
  socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** Resolves with all that has arrived, as Latin-1, once it matches; rejects when the connection ends before. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all that has arrived, as Latin-1, once the connection has ended. */
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

/** One request on a connection of its own, to the end of that connection. */
export async function exchangeRaw(port: number, bytes: string): Promise<string> {
  const client = connectRaw(port);
  client.send(bytes);
  return await client.end();
}

/** SHA-256 in hex of a stream, and how many bytes it had. */
export async function hashStream(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    length += chunk.length;
  }
  return `${length} ${hash.digest("hex")}`;
}
