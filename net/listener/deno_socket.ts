import type { Connection } from "../connection/mod.ts";
import {
  CloseCode,
  createClosePayload,
  createFrame,
  FrameReader,
  mayBeSent,
  Opcode,
  parseClosePayload,
} from "../websocket/mod.ts";

/** A longer message closes the socket. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** Limit for unread bytes: Deno's socket has no back-pressure, so a faster sender is closed. */
const MAX_WAITING_BYTES = 2 * MAX_MESSAGE_BYTES;
/** Limit for unsent bytes before writers wait. */
const MAX_BUFFERED_BYTES = 2 * 1024 * 1024;
const DRAIN_POLL_MS = 1;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** Converts messages from `Deno.serve` into the bytes of an upgraded connection. */
export class DenoSocketConnection implements Connection {
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  /** The visitor's frames, as they would have been received. */
  readonly #incoming: Uint8Array[] = [];
  #waiting = 0;
  #isEnded = false;
  #wake: () => void = () => {};
  readonly #reader: FrameReader;
  #unread = new Uint8Array(0);
  readonly #pieces: Uint8Array[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    this.#opened = new Promise((resolve) => {
      socket.onopen = () => resolve();
      socket.onclose = ({ code, reason }) => {
        resolve();
        // Deno reports 0 or 1006 for a broken connection.
        if (code !== 0 && code !== 1006) this.#push(Opcode.close, createClosePayload(code, reason));
        this.#end();
      };
    });
    // A close event with the code always follows an error.
    socket.onerror = (event) => event.preventDefault();
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.#push(Opcode.text, ENCODER.encode(data));
      else this.#push(Opcode.binary, new Uint8Array(data));
    };
    this.#reader = new FrameReader({
      masked: false,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      listener: {
        onData: (bytes, start, end, text, last) => this.#takePiece(bytes.slice(start, end), text, last),
        onControl: (opcode, payload) => this.#takeControl(opcode, payload),
      },
    });
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#incoming.length === 0) {
      if (this.#isEnded) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const first = this.#incoming[0], count = Math.min(first.length, into.length);
    into.set(first.subarray(0, count));
    if (count < first.length) this.#incoming[0] = first.subarray(count);
    else this.#incoming.shift();
    this.#waiting -= count;
    return count;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#opened;
    const all = new Uint8Array(this.#unread.length + bytes.length);
    all.set(this.#unread);
    all.set(bytes, this.#unread.length);
    const taken = this.#reader.push(all, 0, all.length);
    this.#unread = all.slice(taken);
    while (this.#socket.readyState === WebSocket.OPEN && this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    }
  }

  closeWrite(): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  close(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close();
    else void this.#opened.then(() => this.#socket.readyState === WebSocket.OPEN && this.#socket.close());
    this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  #push(opcode: Opcode, payload: Uint8Array): void {
    if (this.#waiting > MAX_WAITING_BYTES) return this.#socket.close(CloseCode.tooBig, "too much at a time");
    const frame = createFrame(opcode, payload, "zero");
    this.#waiting += frame.length;
    this.#incoming.push(frame);
    this.#wake();
  }

  #takePiece(piece: Uint8Array, text: boolean, last: boolean): void {
    this.#pieces.push(piece);
    if (!last) return;
    const message = new Uint8Array(this.#pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of this.#pieces) {
      message.set(part, at);
      at += part.length;
    }
    this.#pieces.length = 0;
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text ? DECODER.decode(message) : message);
  }

  /** Deno handles pings and pongs. */
  #takeControl(opcode: Opcode, payload: Uint8Array): void {
    if (opcode !== Opcode.close || this.#socket.readyState !== WebSocket.OPEN) return;
    const { code, reason } = parseClosePayload(payload);
    // With a reason, even an empty one, Deno sends its own code.
    if (code === CloseCode.none || !mayBeSent(code)) this.#socket.close();
    else this.#socket.close(code, reason);
  }
}
