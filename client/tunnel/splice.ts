import type { Connection } from "../../net/connection/mod.ts";
import { WriteQueue } from "../../net/upstream/mod.ts";
import { yieldToEventLoop } from "../../common/event_loop.ts";
import { type RequestStream, ResetReason } from "../../protocol/mod.ts";

/** Buffer for an idle connection: most WebSocket messages are much smaller. */
const SMALL = 4 * 1024;
const LARGE = 64 * 1024;
/** Small reads in a row before the small buffer returns. */
const QUIET_READS = 8;
/**
 * Time for a service to read the rest after both directions ended, because the session reports no more about the
 * stream.
 */
const LAST_WORDS_MS = 60_000;

/**
 * Connects a stream and an upgraded connection. Bytes pass unchanged, each direction ends separately, and each stops
 * reading while the other side does not take its bytes.
 */
export class Splice {
  readonly #stream: RequestStream;
  readonly #connection: Connection;
  readonly #queue: WriteQueue;
  #memory = new Uint8Array(SMALL);
  #quietReads = 0;
  /** The visitor's direction has ended, and all its bytes were written. */
  #sentAll = false;
  #visitorEnded = false;
  #serviceEnded = false;
  #lastWords: ReturnType<typeof setTimeout> | undefined;

  /** @param connection positioned at the first byte after the 101 */
  constructor(stream: RequestStream, connection: Connection) {
    this.#stream = stream;
    this.#connection = connection;
    this.#queue = new WriteQueue(
      (bytes) => stream.consumed(bytes),
      () => this.#break(),
      () => this.#onDrained(),
    );
    this.#queue.start(connection);
  }

  /** Reads until the service ends its direction. Never rejects. */
  async run(): Promise<void> {
    try {
      for (;;) {
        const count = await this.#connection.read(this.#memory);
        if (count === null) break;
        const sent = this.#stream.send(this.#memory, 0, count);
        if (sent < count) await this.#pass(sent, count);
        this.#fitMemory(count);
        // Let more bytes arrive before the next read, because a read costs more than a small message.
        if (count < SMALL) await yieldToEventLoop();
      }
      this.#serviceEnded = true;
      this.#stream.end();
      if (this.#sentAll) this.#connection.close();
      else if (this.#visitorEnded) this.#lastWords = setTimeout(() => this.abort(), LAST_WORDS_MS);
    } catch {
      // The service broke off, or the stream has ended and the reset has no effect.
      this.#break();
    }
  }

  /** Passes bytes from the visitor to the service. */
  push(piece: Uint8Array, end: boolean): void {
    if (piece.length > 0) this.#queue.push(piece, piece.length);
    if (!end) return;
    this.#visitorEnded = true;
    if (this.#queue.isEmpty) this.#onDrained();
  }

  /** Handles a reset. */
  abort(): void {
    clearTimeout(this.#lastWords);
    this.#queue.stop();
    this.#connection.close();
  }

  /** Sends the rest of a read as fast as the visitor takes it. */
  async #pass(start: number, end: number): Promise<void> {
    for (let at = start; at < end;) {
      if (this.#stream.room === 0 || this.#stream.ended !== null) await this.#stream.whenRoom();
      at = this.#stream.send(this.#memory, at, end);
    }
  }

  #onDrained(): void {
    if (!this.#visitorEnded || this.#sentAll) return;
    this.#sentAll = true;
    clearTimeout(this.#lastWords);
    if (this.#serviceEnded) this.#connection.close();
    else void this.#connection.closeWrite();
  }

  #break(): void {
    this.abort();
    this.#stream.reset(ResetReason.broken, "it broke the connection off");
  }

  #fitMemory(count: number): void {
    const size = this.#memory.length;
    this.#quietReads = count <= SMALL / 4 ? this.#quietReads + 1 : 0;
    if (count === size && size < LARGE) this.#memory = new Uint8Array(LARGE);
    else if (size > SMALL && this.#quietReads >= QUIET_READS) this.#memory = new Uint8Array(SMALL);
  }
}
