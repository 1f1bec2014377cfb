import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { HttpReader } from "./http_reader.ts";
import { toBytes } from "./latin1.ts";
import { within } from "./within.ts";

/** A response as it came, nothing made prettier. */
export interface RawResponse {
  status: number;
  statusLine: string;
  /** Fields in order, names as they came, values as Latin-1. */
  fields: [name: string, value: string][];
  body: Uint8Array;
  /** First value of a field, by its name in lower case. */
  header(name: string): string | undefined;
}

/** A TCP connection on which HTTP is written by hand. */
export interface RawConnection extends AsyncDisposable {
  write(bytes: string | Uint8Array): void;
  /** The next response, 1xx ones included. `forHead` when the request was HEAD. */
  read(options?: { forHead?: boolean }): Promise<RawResponse>;
  /** What is there until the other side ends, as Latin-1. */
  readToEnd(): Promise<string>;
  /** Our side says that nothing more comes. */
  end(): void;
  /** Ends without a word (RST). */
  reset(): void;
  readonly socket: Socket;
}

/** Connects to a port of this machine. Text is written as Latin-1: a character a byte. */
export async function openRaw(port: number, host = "127.0.0.1"): Promise<RawConnection> {
  const socket = connect({ port, host, noDelay: true, allowHalfOpen: true });
  await once(socket, "connect");
  // The reader sees it: its next read rejects or ends.
  socket.on("error", () => {});
  const reader = new HttpReader(socket);
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === "string" ? toBytes(bytes) : bytes),
    read: (options = {}) =>
      within("a response", reader.readResponse(options.forHead ?? false), () => reader.describe()),
    readToEnd: () => within("the end of a connection", reader.readToEnd(), () => reader.describe()),
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    [Symbol.asyncDispose]() {
      socket.destroy();
      return Promise.resolve();
    },
  };
}

/** Writes a request and reads the final response to it. */
export async function rawRequest(port: number, bytes: string | Uint8Array): Promise<RawResponse> {
  await using raw = await openRaw(port);
  raw.write(bytes);
  const forHead = typeof bytes === "string" && bytes.startsWith("HEAD ");
  for (;;) {
    const response = await raw.read({ forHead });
    if (response.status >= 200) return response;
  }
}
