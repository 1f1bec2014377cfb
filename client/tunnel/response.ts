import { setImmediate } from "node:timers";
import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../common/buffers/buffer_pool.ts";
import type { RequestStream } from "../../protocol/mod.ts";
import { type ChunkedDecoder, createChunkedDecoder, type ResponseHead } from "../../net/http1/mod.ts";
import { ConnectionBroken, type UpstreamConnection } from "../../net/upstream/mod.ts";

/**
 * Wait for the rest of a body with a known length, so that it can travel in one frame; then its beginning goes ahead. A
 * body without a length may be a live stream and gets one event loop iteration.
 */
const GRACE_MS = 2;
const ONE_TURN = 0;
/** Read size once a response turned out to be long. */
const BULK = LARGE;

/** A response's head, and its block for the frame: reason phrase, CRLF, field lines. */
export interface ServiceResponse {
  readonly head: ResponseHead;
  /** The connection's buffer, or a separate one for a changed head: `block[blockStart, blockEnd)`. */
  readonly block: Uint8Array;
  readonly blockStart: number;
  readonly blockEnd: number;
}

/**
 * Carries a service's response into its stream: in one frame if it is complete within a moment, otherwise in chunks.
 * `ResponseBody` in net/upstream serves the proxy, which reads at its own pace; this one sends directly from the
 * connection's buffer, so that a complete response needs no other buffer.
 * @returns whether the connection can carry another request
 * @throws ConnectionBroken, ResponseSyntaxError, StreamEnded
 */
export async function pumpResponse(
  stream: RequestStream,
  connection: UpstreamConnection,
  answer: ServiceResponse,
): Promise<boolean> {
  const { head } = answer;
  if (stream.room === 0) await stream.whenRoom();
  switch (head.framing) {
    case "length":
      return await pumpLength(stream, connection, answer);
    case "chunked":
      return await pumpChunked(stream, connection, answer);
    case "close":
      return await pumpToClose(stream, connection, answer);
    default:
      throw new TypeError(`cannot carry a response with framing "${head.framing}": it has no body`);
  }
}

/** Sends the head with the first body bytes, as many from `buffer[bodyStart, bodyEnd)` as may be sent now. */
async function respond(
  stream: RequestStream,
  buffer: Uint8Array,
  { head, block, blockStart, blockEnd }: ServiceResponse,
  bodyStart: number,
  bodyEnd: number,
  end: boolean,
): Promise<void> {
  const first = Math.min(bodyEnd, bodyStart + stream.room), isAll = first === bodyEnd;
  stream.respond(head.status, block, blockStart, blockEnd, buffer, bodyStart, first, end && isAll);
  if (!isAll) await stream.write(buffer.subarray(first, bodyEnd), end);
}

async function pumpLength(
  stream: RequestStream,
  connection: UpstreamConnection,
  answer: ServiceResponse,
): Promise<boolean> {
  const { head } = answer, total = head.end + head.length;
  let reading: Reading | null = null;
  while (connection.end < total && total <= connection.buffer.length) {
    reading = connection.fill();
    if (await soon(reading, GRACE_MS) === LATER) break;
    reading = null;
  }
  const have = connection.end, first = Math.min(have, total);
  await respond(stream, connection.buffer, answer, head.end, first, first === total);
  if (first === total) return head.keepAlive && have === total;
  let left = total - have;
  const late = await takeRead(connection, reading);
  const excess = Math.max(0, late.length - left);
  left -= late.length - excess;
  await stream.write(late.subarray(0, late.length - excess), left === 0);
  await readBulk(new Bulk(stream, connection, Math.min(left, BULK)), async (bulk) => {
    while (left > 0) {
      const piece = await bulk.read(left) ?? cut(null);
      left -= piece.length;
      await stream.write(piece, left === 0);
    }
  });
  return head.keepAlive && excess === 0;
}

async function pumpChunked(
  stream: RequestStream,
  connection: UpstreamConnection,
  answer: ServiceResponse,
): Promise<boolean> {
  const { head } = answer, decoder = createChunkedDecoder();
  // Decoded data is collected in place, right after the head, because it is never longer than its chunks.
  let gathered = head.end, taken = head.end, reading: Reading | null = null;
  const gather = (data: Uint8Array) => {
    connection.buffer.set(data, gathered);
    gathered += data.length;
  };
  for (;;) {
    taken += decoder.push(connection.buffer.subarray(taken, connection.end), gather);
    if (decoder.done || connection.end === connection.buffer.length) break;
    reading = connection.fill();
    if (await soon(reading, ONE_TURN) === LATER) break;
    reading = null;
  }
  const hasTrailers = decoder.done && decoder.trailers.length > 0;
  await respond(stream, connection.buffer, answer, head.end, gathered, decoder.done && !hasTrailers);
  if (hasTrailers) stream.end(decoder.trailers);
  if (decoder.done) return head.keepAlive && taken === connection.end;
  return await pumpChunks(stream, connection, decoder, await takeRead(connection, reading)) && head.keepAlive;
}

/** Carries the rest of a chunked body. Returns whether no byte followed it. */
async function pumpChunks(
  stream: RequestStream,
  connection: UpstreamConnection,
  decoder: ChunkedDecoder,
  first: Uint8Array,
): Promise<boolean> {
  const pieces: Uint8Array[] = [];
  const collect = (data: Uint8Array) => void pieces.push(data);
  return await readBulk(new Bulk(stream, connection), async (bulk) => {
    for (let bytes = first;;) {
      const taken = decoder.push(bytes, collect);
      for (const piece of pieces) await stream.write(piece);
      pieces.length = 0;
      if (decoder.done) {
        stream.end(decoder.trailers);
        return taken === bytes.length;
      }
      bytes = await bulk.read() ?? cut(null);
    }
  });
}

async function pumpToClose(
  stream: RequestStream,
  connection: UpstreamConnection,
  answer: ServiceResponse,
): Promise<boolean> {
  await respond(stream, connection.buffer, answer, answer.head.end, connection.end, false);
  await readBulk(new Bulk(stream, connection), async (bulk) => {
    for (let piece = await bulk.read(); piece !== null; piece = await bulk.read()) await stream.write(piece);
  });
  stream.end();
  return false;
}

/** Releases the buffer however reading ends, without `using`, which Node 22 cannot parse. */
async function readBulk<T>(bulk: Bulk, read: (bulk: Bulk) => Promise<T>): Promise<T> {
  try {
    return await read(bulk);
  } finally {
    bulk.release();
  }
}

/**
 * Reads a long body only while its visitor takes it, so that thousands of stalled visitors hold no buffer. A trickling
 * body, such as server-sent events, gets a small buffer.
 */
class Bulk {
  readonly #stream: RequestStream;
  readonly #connection: UpstreamConnection;
  #memory: Uint8Array<ArrayBuffer> | null = null;
  /** Bytes per read; grows once a read has filled the buffer. */
  #size: number;

  constructor(stream: RequestStream, connection: UpstreamConnection, size = SMALL) {
    this.#stream = stream;
    this.#connection = connection;
    this.#size = size;
  }

  /**
   * Returns the next chunk, or null at the connection's end. It is valid until the next call.
   * @param limit bytes at most
   * @throws ConnectionBroken, StreamEnded
   */
  async read(limit = Infinity): Promise<Uint8Array | null> {
    if (this.#stream.room === 0) {
      this.release();
      await this.#stream.whenRoom();
    }
    const memory = this.#memory ??= acquireBuffer(this.#size);
    const into = limit < memory.length ? memory.subarray(0, limit) : memory;
    const count = await this.#connection.readInto(into).catch(cut);
    if (count === memory.length && count < BULK) {
      // The caller still sends these bytes, so this buffer is left to it and the next read gets a larger one.
      this.#size = BULK;
      this.#memory = null;
    }
    return count === null ? null : into.subarray(0, count);
  }

  release(): void {
    if (this.#memory !== null) releaseBuffer(this.#memory);
    this.#memory = null;
  }
}

const LATER = -1;

type Reading = Promise<number | null>;

/** Returns the byte count of a read, or LATER if it takes longer than `ms`; 0 means one event loop iteration. */
async function soon(reading: Reading, ms: number): Promise<number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = new Promise<typeof LATER>((resolve) => {
    if (ms === ONE_TURN) setImmediate(resolve, LATER);
    else timer = setTimeout(resolve, ms, LATER);
  });
  // An abandoned read is awaited later, including its failure.
  reading.catch(() => {});
  const count = await Promise.race([reading, later]).catch(cut);
  clearTimeout(timer);
  return count ?? cut(null);
}

/** Returns the bytes from an abandoned read; empty if there was none. */
async function takeRead(connection: UpstreamConnection, reading: Reading | null): Promise<Uint8Array> {
  const count = reading === null ? 0 : await reading.catch(cut) ?? cut(null);
  return connection.buffer.subarray(connection.end - count, connection.end);
}

function cut(cause: unknown): never {
  throw new ConnectionBroken("it closed the connection before its response was complete", { cause });
}
