// An HTTP/2 client for tests that sends single frames, including frames that browsers never send.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";

/** Frame types (RFC 9113, section 6). */
export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** HEADERS and DATA flag (RFC 9113, section 6). */
export const END_STREAM = 0x1;
/** SETTINGS and PING flag. */
export const ACK = 0x1;
/** HEADERS and CONTINUATION flag. */
export const END_HEADERS = 0x4;
/** The client preface (RFC 9113, section 3.4). */
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** A parsed HTTP/2 frame. */
export interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

/** Serializes a frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes fields as literals (RFC 7541, section 6.2.2). Each character is a byte. */
export function block(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

/** Encodes a string without the Huffman code (RFC 7541, section 5.2). */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1"), size: number[] = [];
  if (bytes.length < 127) size.push(bytes.length);
  else {
    size.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) size.push(rest % 128 | 128);
    size.push(rest);
  }
  return Buffer.concat([Buffer.from(size), bytes]);
}

/** Returns the fields for a request. */
export const request = (method: string, path: string, ...more: [string, string][]): [string, string][] => [
  [":method", method],
  [":scheme", "https"],
  [":authority", "a.test"],
  [":path", path],
  ...more,
];

/** Serializes a HEADERS frame that begins a stream. */
export const headers = (stream: number, fields: readonly (readonly [string, string])[], end = true): Buffer =>
  frame(Type.headers, END_HEADERS | (end ? END_STREAM : 0), stream, block(fields));

/** A connection that writes given frames and stores received ones. */
export class Http2Visitor {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  /** Resolves at the end of the connection, whatever the reason. */
  readonly ended: Promise<void>;
  #unread = Buffer.alloc(0);
  #hasEnded = false;
  #wake: () => void = () => {};

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#hasEnded = true;
        this.#wake();
        resolve();
      };
      socket.on("end", end).on("close", end).on("error", end);
    });
  }

  /** Connects to a local port and sends `preface`. */
  static async open(port: number, preface: string | Uint8Array = hello()): Promise<Http2Visitor> {
    const socket = connect({ port, host: "127.0.0.1", ALPNProtocols: ["h2"], rejectUnauthorized: false });
    const visitor = new Http2Visitor(socket);
    await once(socket, "secureConnect");
    socket.setNoDelay(true);
    visitor.send(preface);
    // After the preface, because the listener acknowledges SETTINGS that have already arrived.
    socket.on("data", (chunk: Buffer) => visitor.#take(chunk));
    return visitor;
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  }

  /** Sends bytes and waits until the system accepts them or the connection ends. */
  async deliver(bytes: Uint8Array): Promise<void> {
    if (!this.#hasEnded && !this.socket.write(bytes)) await Promise.race([once(this.socket, "drain"), this.ended]);
  }

  /** Returns the first received or later frame that `isMeant` accepts. Rejects at the end of the connection. */
  async until(isMeant: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(isMeant);
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`the connection ended, after ${this.#describe()}`);
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** Returns the body of a stream after its end. */
  async body(stream: number): Promise<string> {
    await this.until((frame) => frame.stream === stream && isLast(frame));
    const pieces = this.frames.filter((frame) => frame.stream === stream && frame.type === Type.data);
    return Buffer.concat(pieces.map(({ payload }) => payload)).toString("latin1");
  }

  close(): void {
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    while (this.#unread.length >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < end) break;
      const [type, flags] = [this.#unread[3], this.#unread[4]];
      const stream = this.#unread.readUInt32BE(5) & 0x7fffffff;
      this.frames.push({ type, flags, stream, payload: Buffer.from(this.#unread.subarray(9, end)) });
      const isResponded = (type === Type.settings || type === Type.ping) && (flags & ACK) === 0;
      if (isResponded) this.send(frame(type, ACK, 0, type === Type.ping ? this.#unread.subarray(9, end) : undefined));
      this.#unread = this.#unread.subarray(end);
    }
    this.#wake();
  }

  #describe(): string {
    return JSON.stringify(this.frames.map(({ type, flags, stream, payload }) => [type, flags, stream, payload.length]));
  }
}

/** Returns whether a frame is the last on its stream. */
function isLast({ type, flags }: Frame): boolean {
  return type === Type.rstStream || ((type === Type.data || type === Type.headers) && (flags & END_STREAM) !== 0);
}

/** Returns the preface and an empty SETTINGS frame. */
export const hello = (): Buffer => Buffer.concat([Buffer.from(PREFACE), frame(Type.settings, 0, 0)]);
