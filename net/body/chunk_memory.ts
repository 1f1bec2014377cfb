/** Frees the buffers of sent chunks. */
export interface ChunkMemory {
  /** Receives chunks in their order after the listener has copied them. */
  giveBack(chunks: readonly Uint8Array[]): void;
}

/** Smaller buffers may belong to a shared pool. */
const LEAST_BYTES = 32 * 1024;

/**
 * Creates a tracker that frees buffers at once, because the garbage collector lets a fast body fill a hundred megabytes.
 * The last buffer stays until a chunk in another buffer follows: consecutive chunks may share a buffer.
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

/** Yields the same chunks and frees each buffer after the reader has requested the next chunk. */
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
