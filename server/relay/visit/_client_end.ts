import { setImmediate } from "node:timers";
import { encodeLatin1 } from "../../../net/http1/mod.ts";
import { type HeadWriter, Mux, type RequestStream, type StreamHandler } from "../../../protocol/mod.ts";

/** Both ends, and the client's events. */
export interface Pair {
  relay: Mux;
  client: Mux;
  /** Streams that the client received. */
  streams: RequestStream[];
  /** Heads that the client received. */
  heads: string[];
  told: string[];
  /** Chunks from request bodies and upgrades. */
  body: Uint8Array[];
}

/** Options for the client's behaviour. */
export interface PairOptions {
  /** The client returns no credit, as if its service read nothing. */
  stalls?: boolean;
}

/** Creates a relay's mux with a client in this process. The test sends the client's responses. */
export function createPair({ stalls = false }: PairOptions = {}): Pair {
  const streams: RequestStream[] = [];
  const heads: string[] = [];
  const told: string[] = [];
  const body: Uint8Array[] = [];
  const createHandler = (stream: RequestStream): StreamHandler => ({
    onData: (piece, end) => {
      if (piece.length > 0) body.push(piece.slice());
      if (!stalls) stream.consumed(piece.length);
      if (end) told.push("end");
    },
    onTrailers: (frame, start, end) => told.push(`end ${new TextDecoder().decode(frame.subarray(start, end))}`),
    onReset: (reason) => told.push(`reset ${reason}`),
  });
  const relay: Mux = new Mux({
    maxStreams: 10,
    maxUpgrades: 10,
    transport: {
      send: (buffer, start, end) => {
        const message = buffer.slice(start, end);
        client.receive(message, 0, message.length);
      },
    },
    onEnd: (_reason, text) => told.push(`relay ended: ${text}`),
  });
  const client: Mux = new Mux({
    maxStreams: 10,
    maxUpgrades: 10,
    transport: {
      send: (buffer, start, end) => {
        const message = buffer.slice(start, end);
        relay.receive(message, 0, message.length);
        // A handler that keeps a view of the message beyond the call reads these bytes.
        message.fill(0xee);
      },
    },
    onEnd() {},
    onOpen(stream, frame, start, end) {
      streams.push(stream);
      heads.push(new TextDecoder("latin1").decode(frame.subarray(start, end)));
      return createHandler(stream);
    },
  });
  return { relay, client, streams, heads, told, body };
}

/** Resolves when both ends have sent their frames. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 6; count++) await new Promise((resolve) => setImmediate(resolve));
}

/** Responds on a stream. @param block the reason phrase, CRLF, and field lines */
export function respond(stream: RequestStream, status: number, block: string, body: string, end: boolean): void {
  const bytes = encodeLatin1(block + body);
  stream.respond(status, bytes, 0, block.length, bytes, block.length, bytes.length, end);
}

/** Delivers a RESPONSE on stream 1 that Portway's own client refuses to send. */
export function forceResponse(relay: Mux, status: number, block: string): void {
  const bytes = encodeLatin1(block), frame = new Uint8Array(14 + bytes.length), view = new DataView(frame.buffer);
  view.setUint32(0, 4 + bytes.length);
  view.setUint8(4, 2);
  view.setUint32(6, 1);
  view.setUint16(10, status);
  view.setUint16(12, bytes.length);
  frame.set(bytes, 14);
  relay.receive(frame, 0, frame.length);
}

/** Sends an interim response. */
export function inform(stream: RequestStream, status: number, block: string): void {
  const bytes = encodeLatin1(block);
  stream.inform(status, bytes, 0, bytes.length);
}

/** Creates a head from Latin-1 text. */
export function writeText(text: string): HeadWriter {
  const bytes = encodeLatin1(text);
  return {
    headSize: bytes.length,
    writeHead(into, at) {
      into.set(bytes, at);
      return at + bytes.length;
    },
  };
}
