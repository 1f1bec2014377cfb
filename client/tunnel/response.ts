import { setImmediate } from "node:timers";
import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../common/buffers/buffer_pool.ts";
import type { RequestStream } from "../../protocol/mod.ts";
import { type ChunkedDecoder, createChunkedDecoder, type ResponseHead } from "../../net/http1/mod.ts";
import { ConnectionBroken, type UpstreamConnection } from "../../net/upstream/mod.ts";

/**
 * How long the rest of a body with a known length is waited for, in the hope that it travels whole in one frame; after
 * that its beginning goes ahead. A body without a length may be a stream: it gets one turn of the event loop.
 */
const GRACE_MS = 2;
const ONE_TURN = 0;
/** Bytes read at a time once an answer turned out to be long. */
const BULK = LARGE;

/** An answer's head, and the block that travels: reason phrase, CRLF, field lines. */
export interface ServiceResponse {
  readonly head: ResponseHead;
  /** The connection's buffer, or memory of its own where it was changed: `block[blockStart, blockEnd)`. */
  readonly block: Uint8Array;
  readonly blockStart: number;
  readonly blockEnd: number;
}

/**
 * Carries an answer from the local service into its stream: head and body in one frame when the whole answer is there
 * within a moment, else piece by piece as it comes.
 * Beside `ResponseBody` of net/upstream, which the proxy reads at its own pace, this one sends out of the connection's
 * buffer, so that a whole answer costs no memory of its own.
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

/** Sends the head with what there is of the body, `buffer[bodyStart, bodyEnd)`: as much of it as may be sent at once. */
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
  // What has been decoded is gathered in place, right behind the head: data is never longer than its chunks.
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

/** The rest of a chunked body. Returns whether nothing came behind it. */
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

/** Gives the memory back however reading ends; not by `using`, which Node 22 cannot parse. */
async function readBulk<T>(bulk: Bulk, read: (bulk: Bulk) => Promise<T>): Promise<T> {
  try {
    return await read(bulk);
  } finally {
    bulk.release();
  }
}

/**
 * Reads a body that goes on, only while its visitor takes it: thousands who stall hold no memory here. A body that
 * trickles, as events do, is read into little.
 */
class Bulk {
  readonly #stream: RequestStream;
  readonly #connection: UpstreamConnection;
  #memory: Uint8Array<ArrayBuffer> | null = null;
  /** Bytes read at a time: all that come, once a read has filled it. */
  #size: number;

  constructor(stream: RequestStream, connection: UpstreamConnection, size = SMALL) {
    this.#stream = stream;
    this.#connection = connection;
    this.#size = size;
  }

  /**
   * The next piece, or null at the end of the connection. It is good until the next is asked for.
   * @param limit bytes it may have at most
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
      // What was read is still to be sent: it is left behind, and more room taken for the next.
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

/** How many bytes a read brings, or LATER when it takes longer than `ms`, 0 for a turn of the event loop. */
async function soon(reading: Reading, ms: number): Promise<number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = new Promise<typeof LATER>((resolve) => {
    if (ms === ONE_TURN) setImmediate(resolve, LATER);
    else timer = setTimeout(resolve, ms, LATER);
  });
  // Whoever gives up on a read takes its result later, a failure too.
  reading.catch(() => {});
  const count = await Promise.race([reading, later]).catch(cut);
  clearTimeout(timer);
  return count ?? cut(null);
}

/** What a read that was given up on has brought; nothing if there was none. */
async function takeRead(connection: UpstreamConnection, reading: Reading | null): Promise<Uint8Array> {
  const count = reading === null ? 0 : await reading.catch(cut) ?? cut(null);
  return connection.buffer.subarray(connection.end - count, connection.end);
}

function cut(cause: unknown): never {
  throw new ConnectionBroken("it closed the connection in the middle of its answer", { cause });
}
