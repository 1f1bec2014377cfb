import { createHash } from "node:crypto";

/** Large and odd enough that no piece boundary of ours divides it. */
const PERIOD = 1024 * 1024 + 7;

/**
 * `size` bytes that are the same for the same seed, made as they are taken: pieces of a pseudo-random block (xorshift)
 * whose start changes with every turn, so that pieces cannot be swapped, dropped or doubled unseen.
 */
export function* createNoise(size: number, seed = 1, pieceSize = 64 * 1024): Generator<Uint8Array<ArrayBuffer>> {
  const block = createBlock(seed);
  let at = 0;
  for (let left = size, turn = 0; left > 0; turn++) {
    const piece = block.slice(at, at + Math.min(left, pieceSize));
    // Each piece that has room carries its number.
    if (piece.length >= 4) new DataView(piece.buffer).setUint32(0, turn + seed);
    yield piece;
    left -= piece.length;
    at = (at + piece.length + 13) % (block.length - pieceSize);
  }
}

function createBlock(seed: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(PERIOD >> 2);
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state = (state ^ (state << 5)) >>> 0;
    words[i] = state;
  }
  return new Uint8Array(words.buffer);
}

/** SHA-256 of pieces, in hexadecimal. */
export async function hashOf(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
