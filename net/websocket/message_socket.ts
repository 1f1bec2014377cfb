import type { Connection } from "../connection/mod.ts";
import {
  CloseCode,
  createClosePayload,
  createFrame,
  decodeUtf8,
  FRAME_SPACE,
  frameInPlace,
  type Masking,
  mayBeSent,
  Opcode,
  parseClosePayload,
  WebSocketError,
} from "./frames.ts";
import { FrameReader } from "./frame_reader.ts";

/** A connection behind a WebSocket handshake whose messages are told one by one. */
export interface MessageSocketOptions {
  /** Its own from here on: it closes it. */
  connection: Connection;
  /** How what is sent is masked; `bare` makes this the server's end. */
  masking: Masking;
  /** The largest message that is taken, in bytes; a larger one closes the socket with 1009 as soon as it shows. */
  maxMessageBytes: number;
  /** Nothing more is read until what this returns resolves. */
  onMessage(data: string | Uint8Array<ArrayBuffer>): void | Promise<void>;
  /** Called once: the peer's code and reason, 1005 for a close without a code, 1006 when the connection broke. */
  onClose(code: number, reason: string): void;
}

const READ_SIZE = 16 * 1024;
/** How long the peer's own close frame is waited for. */
const CLOSE_MS = 2000;

/** A WebSocket of whole messages over a connection whose handshake is done: for code in this process. */
export class MessageSocket {
  readonly #options: MessageSocketOptions;
  readonly #connection: Connection;
  readonly #reader: FrameReader;
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #size = 0;
  /** Whole messages that came in one read, of which the owner takes one at a time. */
  readonly #messages: (string | Uint8Array<ArrayBuffer>)[] = [];
  #closeFrame: { code: number; reason: string } | null = null;
  readonly #frames: Uint8Array[] = [];
  #pong: Uint8Array | null = null;
  #buffered = 0;
  #writing = false;
  #closeSent = false;
  #over = false;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: MessageSocketOptions) {
    this.#options = options;
    this.#connection = options.connection;
    this.#reader = new FrameReader({
      masked: options.masking === "bare",
      maxMessageBytes: options.maxMessageBytes,
      listener: {
        onPiece: (bytes, start, end, text, last) => this.#onPiece(bytes.slice(start, end), text, last),
        onControl: (opcode, payload) => this.#onControl(opcode, payload),
      },
    });
    this.#read();
  }

  /** Bytes handed to {@link send} that the connection has not taken yet. */
  get bufferedAmount(): number {
    return this.#buffered;
  }

  /** Sends one message; `data` is copied. No effect once it is closed. */
  send(data: string | Uint8Array): void {
    if (this.#closeSent) return;
    const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
    const frame = new Uint8Array(FRAME_SPACE + bytes.length);
    frame.set(bytes, FRAME_SPACE);
    const opcode = typeof data === "string" ? Opcode.text : Opcode.binary;
    this.#push(frame.subarray(frameInPlace(frame, FRAME_SPACE, frame.length, opcode, true, this.#options.masking)));
  }

  /** Closes it behind what was sent. A code that may not be sent becomes 1000; the reason is cut to 123 bytes. */
  close(code: number = CloseCode.none, reason = ""): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    const sent = code === CloseCode.none || mayBeSent(code) ? code : CloseCode.normal;
    this.#push(createFrame(Opcode.close, createClosePayload(sent, reason), this.#options.masking));
    this.#closeTimer = setTimeout(() => this.#end(CloseCode.broken, ""), CLOSE_MS);
  }

  async #read(): Promise<void> {
    const { masking } = this.#options;
    let memory = new Uint8Array(READ_SIZE), have = 0;
    try {
      while (!this.#over) {
        const count = await this.#connection.read(have === 0 ? memory : memory.subarray(have));
        if (count === null) break;
        have += count;
        const taken = this.#reader.push(memory, 0, have);
        memory.copyWithin(0, taken, have);
        have -= taken;
        for (let next = this.#messages.shift(); next !== undefined; next = this.#messages.shift()) {
          await this.#options.onMessage(next);
        }
        if (this.#closeFrame !== null) return this.#answerClose(this.#closeFrame);
      }
    } catch (error) {
      if (error instanceof WebSocketError && !this.#closeSent) {
        this.#push(createFrame(Opcode.close, createClosePayload(error.code, error.message), masking));
        this.#closeSent = true;
      }
    } finally {
      memory = NOTHING;
    }
    this.#end(CloseCode.broken, "");
  }

  #answerClose({ code, reason }: { code: number; reason: string }): void {
    if (!this.#closeSent) {
      this.#closeSent = true;
      this.#push(createFrame(Opcode.close, createClosePayload(code, reason), this.#options.masking));
    }
    this.#end(code, reason);
  }

  #onPiece(piece: Uint8Array<ArrayBuffer>, text: boolean, last: boolean): void {
    if (piece.length > 0) this.#pieces.push(piece);
    this.#size += piece.length;
    if (!last) return;
    const whole = this.#pieces.length === 1 ? this.#pieces[0] : join(this.#pieces, this.#size);
    this.#pieces.length = this.#size = 0;
    this.#messages.push(text ? decodeUtf8(whole) : whole);
  }

  #onControl(opcode: Opcode, payload: Uint8Array): void {
    if (opcode === Opcode.close) {
      this.#closeFrame = parseClosePayload(payload);
      return this.#reader.stop();
    }
    if (opcode !== Opcode.ping || this.#closeSent) return;
    const pong = createFrame(Opcode.pong, payload, this.#options.masking);
    // One waits at most: a peer that pings without reading must not fill memory.
    if (this.#writing) this.#pong = pong;
    else this.#push(pong);
  }

  #push(frame: Uint8Array): void {
    this.#frames.push(frame);
    this.#buffered += frame.length;
    if (!this.#writing) this.#drain();
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    try {
      for (let frame = this.#next(); frame !== undefined; frame = this.#next()) {
        await this.#connection.write(frame);
        this.#buffered -= frame.length;
      }
    } catch {
      this.#end(CloseCode.broken, "");
    }
    this.#writing = false;
    if (this.#over) this.#finish();
  }

  #next(): Uint8Array | undefined {
    const pong = this.#pong;
    this.#pong = null;
    if (pong !== null && !this.#closeSent) {
      this.#frames.unshift(pong);
      this.#buffered += pong.length;
    }
    return this.#frames.shift();
  }

  #end(code: number, reason: string): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#closeTimer);
    if (!this.#writing || code === CloseCode.broken && !this.#closeSent) this.#finish();
    // A peer that does not take our close frame does not keep the connection.
    else this.#closeTimer = setTimeout(() => this.#connection.close(), CLOSE_MS);
    this.#options.onClose(code, reason);
  }

  #finish(): void {
    clearTimeout(this.#closeTimer);
    this.#connection.close();
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);

function join(pieces: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
