/** Gives the memory of chunks back as soon as they are sent. */
export interface ChunkMemory {
  /** Told of chunks, in their order, once the listener has taken them over. */
  giveBack(chunks: readonly Uint8Array[]): void;
}

/** Below this a buffer may be part of a pool that others use too. */
const LEAST_BYTES = 32 * 1024;

/**
 * Left to the garbage collector, chunks of a fast body pile up to a hundred megabytes before it looks for them.
 * The last buffer is kept until a chunk of another one comes: several chunks in a row may be parts of one.
 */
export function createChunkMemory(): ChunkMemory {
  let last: ArrayBufferLike | null = null;
  return {
    giveBack(chunks) {
      for (const { buffer } of chunks) {
        if (buffer === last) continue;
        release(last);
        last = buffer;
      }
    },
  };
}

/** The same chunks, for a reader that copies each before it asks for the next: their memory is given back then. */
export async function* giveBackTaken(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const memory = createChunkMemory();
  for await (const chunk of chunks) {
    yield chunk;
    memory.giveBack([chunk]);
  }
}

function release(buffer: ArrayBufferLike | null): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached && buffer.byteLength >= LEAST_BYTES) buffer.transfer(0);
}
