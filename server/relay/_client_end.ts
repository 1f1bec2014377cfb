import { setImmediate } from "node:timers";
import { Mux, type MuxStream, type StreamHandler } from "../../protocol/mod.ts";

/** Both ends, and what the client was told. */
export interface Pair {
  relay: Mux;
  client: Mux;
  /** Streams that the client was asked on. */
  streams: MuxStream[];
  told: string[];
  /** Pieces of request bodies. */
  body: Uint8Array[];
}

/** A relay's mux whose client is in the same process, and answers by the test's hand. */
export function createPair(): Pair {
  const streams: MuxStream[] = [];
  const told: string[] = [];
  const body: Uint8Array[] = [];
  const handler: StreamHandler = {
    onData: (piece, end) => {
      body.push(piece.slice());
      if (end) told.push("end");
    },
    onMessage: (piece, text) => told.push(`${text ? "text" : "binary"} ${new TextDecoder().decode(piece)}`),
    onClose: (code, reason) => told.push(`close ${code} ${reason}`),
    onReset: (reason) => told.push(`reset ${reason}`),
  };
  const relay: Mux = new Mux({
    maxStreams: 10,
    transport: { send: (buffer, start, end) => client.receive(buffer.slice(start, end)) },
    onEnd: (_reason, text) => told.push(`relay ended: ${text}`),
  });
  const client: Mux = new Mux({
    maxStreams: 10,
    transport: { send: (buffer, start, end) => relay.receive(buffer.slice(start, end)) },
    onEnd() {},
    onRequest(stream) {
      streams.push(stream);
      return handler;
    },
  });
  return { relay, client, streams, told, body };
}

/** Resolves when both ends have sent what they had. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 6; count++) await new Promise((resolve) => setImmediate(resolve));
}

/** Answers a stream. */
export function respond(stream: MuxStream, status: number, head: string, body: string, end: boolean): void {
  const bytes = Uint8Array.from(head + body, (char) => char.charCodeAt(0));
  stream.respond(status, bytes, 0, head.length, bytes, head.length, bytes.length, end);
}
