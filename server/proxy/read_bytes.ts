import type { Buffer } from "node:buffer";
import type { Exchange } from "../../common/listener/mod.ts";
import type { HeldMemory } from "./description_memory.ts";
import { bodyTooLarge } from "./gate.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import { type PauseOptions, watchPauses } from "./watch_pauses.ts";

export interface ReadBytesOptions extends PauseOptions {
  maxBytes: number;
  held: HeldMemory;
}

/**
 * The body, its memory counted as it arrives.
 * @throws HttpError 413 `body_too_large`, 503 `busy`, 408 `request_timeout`
 */
export async function readBytes(exchange: Exchange, options: ReadBytesOptions): Promise<Buffer> {
  const { maxBytes, held } = options;
  const bytes = new GrowingBytes();
  if (exchange.body === null) return bytes.take();
  const { chunks, stop } = watchPauses(exchange.body, options);
  try {
    for await (const chunk of chunks) {
      if (bytes.length + chunk.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
      held.add(chunk.byteLength);
      bytes.append(chunk);
    }
  } finally {
    stop();
  }
  return bytes.take();
}
