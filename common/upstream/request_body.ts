import { Buffer } from "node:buffer";
import type { UpstreamConnection } from "./connection.ts";

/** Bytes gathered for one write, and as long as all pieces are small. */
const GATHER_BYTES = 64 * 1024;
const SMALL_BYTES = 16 * 1024;
/** Room in front for a chunk's size and the line end, and behind for the line end alone. */
const SIZE_ROOM = 10;
const LINE_END_ROOM = 2;
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/**
 * Sends a body that comes in pieces of any size. What arrives during one write goes out together in the next: a write a
 * piece would make small pieces slow, and waiting for more would make a trickle late. Pieces are copied when they are
 * taken, so their memory may be given back at once.
 */
export class BodyWriter {
  readonly #connection: UpstreamConnection;
  readonly #chunked: boolean;
  #filling: Buffer | null = null;
  #at = SIZE_ROOM;
  #spare: Buffer | null = null;
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(connection: UpstreamConnection, chunked: boolean) {
    this.#connection = connection;
    this.#chunked = chunked;
  }

  /** Takes a piece; resolves when there is room for the next. @throws ConnectionBroken when an earlier write failed */
  async take(piece: Uint8Array): Promise<void> {
    for (let from = 0; from < piece.length;) {
      if (this.#failure) throw this.#failure.error;
      const memory = this.#filling ??= this.#takeMemory(piece.length);
      const part = piece.subarray(from, from + memory.length - LINE_END_ROOM - this.#at);
      memory.set(part, this.#at);
      this.#at += part.length;
      from += part.length;
      if (!this.#writing) this.#write(memory);
      else if (from < piece.length) await this.#writing;
    }
  }

  /** Resolves when all has been written, the last chunk included. @throws ConnectionBroken */
  async finish(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#failure) throw this.#failure.error;
    if (this.#chunked) await this.#connection.write(LAST_CHUNK);
  }

  /** Writes what has been gathered; what comes meanwhile is gathered in other memory. Never rejects. */
  #write(memory: Buffer): void {
    const bytes = this.#frame(memory);
    this.#filling = null;
    this.#at = SIZE_ROOM;
    this.#writing = this.#connection.write(bytes).then(() => {
      this.#spare = memory;
      this.#writing = null;
      if (this.#filling) this.#write(this.#filling);
    }, (error) => {
      this.#failure = { error };
      this.#writing = null;
    });
  }

  /** One chunk of all that has been gathered, its size written right in front of it. */
  #frame(memory: Buffer): Buffer {
    if (!this.#chunked) return memory.subarray(SIZE_ROOM, this.#at);
    const size = `${(this.#at - SIZE_ROOM).toString(16)}\r\n`;
    memory.write(size, SIZE_ROOM - size.length, "latin1");
    memory.write("\r\n", this.#at, "latin1");
    return memory.subarray(SIZE_ROOM - size.length, this.#at + LINE_END_ROOM);
  }

  /** That of the last write, unless it is too small for pieces that have become large. */
  #takeMemory(pieceBytes: number): Buffer {
    const bytes = SIZE_ROOM + (pieceBytes > SMALL_BYTES / 2 ? GATHER_BYTES : SMALL_BYTES) + LINE_END_ROOM;
    const spare = this.#spare;
    this.#spare = null;
    return spare !== null && spare.length >= bytes ? spare : Buffer.alloc(bytes);
  }
}
