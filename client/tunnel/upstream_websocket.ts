import { type MuxStream, ResetReason, StreamEnded } from "../../protocol/mod.ts";
import type { ResponseHead } from "../../common/http1/mod.ts";
import type { UpstreamConnection } from "./upstream_pool.ts";
import {
  acceptFor,
  createClosePayload,
  createFrame,
  frameInPlace,
  FrameReader,
  Opcode,
  WebSocketError,
} from "./websocket.ts";

const READ_SIZE = 64 * 1024;
/** Space before a payload for its frame's head; a multiple of four. */
const HEAD_SPACE = 16;

interface Piece {
  bytes: Uint8Array;
  text: boolean;
  last: boolean;
}

/** A WebSocket to the local service, carried message by message, pieces as they come. */
export class UpstreamWebSocket {
  readonly #stream: MuxStream;
  readonly #connection: UpstreamConnection;
  readonly #masked: boolean;
  /** Frames wait for each other here: one write at a time. */
  #writing: Promise<void> = Promise.resolve();
  /** Whether the next piece to the service goes on with a message. */
  #continues = false;
  readonly #incoming: Piece[] = [];
  #closed: { code: number; reason: string } | null = null;

  constructor(stream: MuxStream, connection: UpstreamConnection, masked: boolean) {
    this.#stream = stream;
    this.#connection = connection;
    this.#masked = masked;
  }

  /** Answers the visitor's handshake, then carries what the service sends until either side closes. */
  async run(head: ResponseHead, have: number, key: string): Promise<void> {
    const { buffer } = this.#connection;
    const fields = new TextDecoder().decode(buffer.subarray(head.fieldsStart, head.fieldsEnd));
    if (/^sec-websocket-accept:[ \t]*(\S*)/im.exec(fields)?.[1] !== acceptFor(key)) {
      throw new WebSocketError("its answer to the WebSocket handshake is wrong");
    }
    this.#stream.respond(101, buffer, head.fieldsStart, head.fieldsEnd, buffer, 0, 0, false);
    const reader = new FrameReader({
      onPiece: (bytes, text, last) => this.#incoming.push({ bytes, text, last }),
      onControl: (opcode, payload) => this.#onControl(opcode, payload),
    });
    try {
      await this.#receive(reader, buffer.subarray(head.end, have));
    } catch (error) {
      if (error instanceof StreamEnded) return;
      const code = error instanceof WebSocketError ? 1002 : 1006;
      this.#stream.closeWebSocket(code, "");
    } finally {
      this.#connection.close();
    }
  }

  /** Sends a piece of a visitor's message to the service. */
  send(bytes: Uint8Array, text: boolean, last: boolean): void {
    const opcode = this.#continues ? Opcode.continuation : text ? Opcode.text : Opcode.binary;
    this.#continues = !last;
    const memory = new Uint8Array(HEAD_SPACE + bytes.length);
    memory.set(bytes, HEAD_SPACE);
    const start = frameInPlace(memory, HEAD_SPACE, memory.length, opcode, last, this.#masked);
    this.#write(memory.subarray(start), bytes.length);
  }

  /** The visitor closed: so do we, behind what was sent before. */
  close(code: number, reason: string): void {
    if (code === 1006) return this.#connection.close();
    this.#write(createFrame(Opcode.close, createClosePayload(code, reason), this.#masked), 0);
    // The stream has ended with the visitor's close; the service's own close frame changes nothing any more.
    this.#writing.then(() => this.#connection.close());
  }

  async #receive(reader: FrameReader, first: Uint8Array): Promise<void> {
    const memory = new Uint8Array(READ_SIZE);
    for (let bytes = first;;) {
      reader.push(bytes);
      for (const piece of this.#incoming) await this.#stream.writeMessage(piece.bytes, piece.text, piece.last);
      this.#incoming.length = 0;
      if (this.#closed !== null) return this.#stream.closeWebSocket(this.#closed.code, this.#closed.reason);
      const count = await this.#connection.readInto(memory);
      if (count === null) return this.#stream.closeWebSocket(1006, "");
      bytes = memory.subarray(0, count);
    }
  }

  #onControl(opcode: Opcode, payload: Uint8Array): void {
    if (opcode === Opcode.ping) this.#write(createFrame(Opcode.pong, payload, this.#masked), 0);
    if (opcode !== Opcode.close) return;
    this.#write(createFrame(Opcode.close, payload.slice(0, 2), this.#masked), 0);
    this.#closed = payload.length < 2
      ? { code: 1005, reason: "" }
      : { code: payload[0] << 8 | payload[1], reason: new TextDecoder().decode(payload.subarray(2)) };
  }

  #write(frame: Uint8Array, credit: number): void {
    this.#writing = this.#writing.then(async () => {
      if (this.#stream.ended !== null && this.#stream.ended !== ResetReason.none) return;
      await this.#connection.write(frame);
      this.#stream.consumed(credit);
      // A connection that broke ends its read too, and that side says so.
    }).catch(() => {});
  }
}
