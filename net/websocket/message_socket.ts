import type { Connection } from "../connection/mod.ts";
import {
  CloseCode,
  createClosePayload,
  createFrame,
  decodeUtf8,
  FRAME_SPACE,
  frameInPlace,
  FrameReader,
  type Masking,
  mayBeSent,
  Opcode,
  parseClosePayload,
  WebSocketError,
} from "./frames.ts";

/** Options of a {@link MessageSocket}. */
export interface MessageSocketOptions {
  /** The connection after its handshake. The socket closes it. */
  connection: Connection;
  /** The mask for sent frames. `bare` makes this the server's end. */
  masking: Masking;
  /** The largest message in bytes. A larger one closes the socket with 1009 at its first excessive frame head. */
  maxMessageBytes: number;
  /** Receives a message. Reading continues when the returned promise resolves. */
  onMessage(data: string | Uint8Array<ArrayBuffer>): void | Promise<void>;
  /** Reports the end once: the peer's code and reason, 1005 for a close without a code, 1006 for a broken connection. */
  onClose(code: number, reason: string): void;
}

const READ_SIZE = 16 * 1024;
/** The time for the peer to send its close frame. */
const CLOSE_MS = 2000;

/** A WebSocket with whole messages, for code in this process. */
export class MessageSocket {
  readonly #options: MessageSocketOptions;
  readonly #connection: Connection;
  readonly #reader: FrameReader;
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #size = 0;
  /** Complete messages from one read. The owner receives one at a time. */
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
        onData: (bytes, start, end, text, last) => this.#onData(bytes.slice(start, end), text, last),
        onControl: (opcode, payload) => this.#onControl(opcode, payload),
      },
    });
    this.#read();
  }

  /** Bytes from {@link send} that are not written yet. */
  get bufferedAmount(): number {
    return this.#buffered;
  }

  /** Sends a copy of `data` as one message. Has no effect after the close. */
  send(data: string | Uint8Array): void {
    if (this.#closeSent) return;
    const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
    const frame = new Uint8Array(FRAME_SPACE + bytes.length);
    frame.set(bytes, FRAME_SPACE);
    const opcode = typeof data === "string" ? Opcode.text : Opcode.binary;
    this.#push(frame.subarray(frameInPlace(frame, FRAME_SPACE, frame.length, opcode, true, this.#options.masking)));
  }

  /** Closes the socket after all sent messages. An invalid code becomes 1000; the reason is cut to 123 bytes. */
  close(code: number = CloseCode.none, reason = ""): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    const sent = code === CloseCode.none || mayBeSent(code) ? code : CloseCode.normal;
    this.#push(createFrame(Opcode.close, createClosePayload(sent, reason), this.#options.masking));
    this.#closeTimer = setTimeout(() => this.#end(CloseCode.broken, ""), CLOSE_MS);
  }

  async #read(): Promise<void> {
    const { masking } = this.#options;
    let buffer = new Uint8Array(READ_SIZE), have = 0;
    try {
      while (!this.#over) {
        const count = await this.#connection.read(have === 0 ? buffer : buffer.subarray(have));
        if (count === null) break;
        have += count;
        const taken = this.#reader.push(buffer, 0, have);
        buffer.copyWithin(0, taken, have);
        have -= taken;
        for (let next = this.#messages.shift(); next !== undefined; next = this.#messages.shift()) {
          await this.#options.onMessage(next);
        }
        if (this.#closeFrame !== null) return this.#respondToClose(this.#closeFrame);
      }
    } catch (error) {
      if (error instanceof WebSocketError && !this.#closeSent) {
        this.#push(createFrame(Opcode.close, createClosePayload(error.code, error.message), masking));
        this.#closeSent = true;
      }
    } finally {
      buffer = NOTHING;
    }
    this.#end(CloseCode.broken, "");
  }

  #respondToClose({ code, reason }: { code: number; reason: string }): void {
    if (!this.#closeSent) {
      this.#closeSent = true;
      this.#push(createFrame(Opcode.close, createClosePayload(code, reason), this.#options.masking));
    }
    this.#end(code, reason);
  }

  #onData(chunk: Uint8Array<ArrayBuffer>, text: boolean, last: boolean): void {
    if (chunk.length > 0) this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (!last) return;
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : join(this.#chunks, this.#size);
    this.#chunks.length = this.#size = 0;
    this.#messages.push(text ? decodeUtf8(whole) : whole);
  }

  #onControl(opcode: Opcode, payload: Uint8Array): void {
    if (opcode === Opcode.close) {
      this.#closeFrame = parseClosePayload(payload);
      return this.#reader.stop();
    }
    if (opcode !== Opcode.ping || this.#closeSent) return;
    const pong = createFrame(Opcode.pong, payload, this.#options.masking);
    // At most one pong waits, so a peer that pings and does not read cannot fill buffer.
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
    // A peer that does not read the close frame cannot keep the connection open.
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

function join(chunks: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
