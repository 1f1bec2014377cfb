import type { Buffer } from "node:buffer";
import type { Exchange } from "../../common/listener/mod.ts";
import type { HeldMemory } from "./description_memory.ts";
import { bodyTooLarge } from "./gate.ts";
import { GrowingBytes } from "./growing_bytes.ts";

/**
 * The body, its memory counted as it arrives.
 * @throws HttpError 413 `body_too_large`, 503 `busy`
 */
export async function readBytes(exchange: Exchange, maxBytes: number, held: HeldMemory): Promise<Buffer> {
  const body = new GrowingBytes();
  for await (const chunk of exchange.body ?? []) {
    if (body.length + chunk.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
    held.add(chunk.byteLength);
    body.append(chunk);
  }
  return body.take();
}
