import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { HttpReader, type RawMessage } from "./http_reader.ts";
import { toBytes } from "./latin1.ts";
import { within } from "./within.ts";

/** A local service on raw TCP: keeps every request as the bytes it came in, and answers by hand. */
export interface Recorder extends AsyncDisposable {
  readonly port: number;
  /** Every request so far, in order of arrival. */
  readonly requests: RawMessage[];
  /** All bytes of each connection that held no request, e.g. garbage. */
  readonly faults: string[];
  /** The first request that matches and was not handed out before; waits for it. */
  waitFor(matches: (request: RawMessage) => boolean): Promise<RawMessage>;
  /** Connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
}

export interface RecorderOptions {
  /**
   * What is written for a request, as soon as it is there whole; null leaves everything to the function.
   * `200 ok` when not given.
   */
  answer?: (request: RawMessage, socket: Socket) => string | Uint8Array | null;
  host?: string;
}

const OK = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nok\n";

export async function startRecorder({ answer = () => OK, host = "127.0.0.1" }: RecorderOptions = {}): Promise<
  Recorder
> {
  const requests: RawMessage[] = [], faults: string[] = [];
  const sockets = new Set<Socket>(), taken = new Set<RawMessage>();
  let wake = Promise.withResolvers<void>();

  async function serve(socket: Socket): Promise<void> {
    const reader = new HttpReader(socket);
    for (;;) {
      const request = await reader.readRequest();
      if (request === null) break;
      requests.push(request);
      wake.resolve();
      wake = Promise.withResolvers();
      const reply = answer(request, socket);
      if (reply === null) return;
      socket.write(typeof reply === "string" ? toBytes(reply) : reply);
    }
    socket.end();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // What the other side does to the connection is its matter.
    socket.on("error", () => socket.destroy());
    serve(socket).catch((error) => {
      faults.push(String(error));
      socket.destroy();
    });
  });
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the recorder has no port");

  async function find(matches: (request: RawMessage) => boolean): Promise<RawMessage> {
    for (;;) {
      const found = requests.find((request) => !taken.has(request) && matches(request));
      if (found !== undefined) {
        taken.add(found);
        return found;
      }
      await wake.promise;
    }
  }

  return {
    port: address.port,
    requests,
    faults,
    sockets,
    waitFor: (matches) =>
      within("a request", find(matches), () => `; there was ${JSON.stringify(requests.map(({ raw }) => raw))}`),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
