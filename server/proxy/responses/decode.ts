import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { type ContentEncoding, createDecoder, parseEncodings } from "../../../net/body/content_encoding.ts";
import { ByteSource, gunzip } from "../../../net/body/gunzip.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { ResponseBody } from "../../../net/upstream/mod.ts";
import type { HopResponse } from "../perform/upstream.ts";

/** A whole body in memory. */
export interface DecodedBody {
  /** Decoded content, where its encoding is known. */
  bytes: Uint8Array;
  /** Bytes on the wire, before decoding. */
  wireBytes: number;
}

/**
 * Reads a whole body and decodes it.
 * @param maxBytes the limit before and after decoding, which also stops compression bombs
 * @throws HttpError 413 `answer_too_large`, 502 `upstream_bad_encoding`, or the error that ended the body.
 */
export async function readDecoded(response: HopResponse, maxBytes: number): Promise<DecodedBody> {
  refuseAnnounced(response, maxBytes);
  const wire = await collect(response.body, maxBytes);
  const fields = response.headers.filter(([name]) => name.toLowerCase() === "content-encoding");
  const encodings = parseEncodings(fields.map(([, value]) => value)) ?? [];
  if (encodings.length === 0 || wire.byteLength === 0) return { bytes: wire, wireBytes: wire.byteLength };
  const bytes = await decode(wire, encodings, maxBytes);
  return { bytes, wireBytes: wire.byteLength };
}

/** Refuses a response that announces too many bytes. @throws HttpError 413 */
export function refuseAnnounced(response: HopResponse, maxBytes: number): void {
  const length = response.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  if (length === undefined || !(Number(length) > maxBytes) || !response.hasBody) return;
  const error = responseTooLarge(maxBytes);
  response.body.cancel();
  throw error;
}

/** Creates a 413 for a response beyond the limit. */
export function responseTooLarge(maxBytes: number): HttpError {
  return new HttpError(413, "answer_too_large", `The upstream's response is larger than ${maxBytes} bytes.`, {
    details: "Raise maxBytes as far as this server allows, or ask for a streamed response.",
  });
}

async function collect(body: ResponseBody, maxBytes: number): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let bytes = 0;
  for (let chunks = await body.take(); chunks !== null; chunks = await body.take()) {
    for (const chunk of chunks) {
      bytes += chunk.byteLength;
      all.push(chunk);
    }
    if (bytes <= maxBytes) continue;
    const error = responseTooLarge(maxBytes);
    body.cancel();
    throw error;
  }
  return all.length === 1 ? all[0] : Buffer.concat(all, bytes);
}

async function decode(wire: Uint8Array, encodings: readonly ContentEncoding[], maxBytes: number): Promise<Uint8Array> {
  let bytes = wire;
  // The limit applies to each encoding, so a long list cannot multiply the work.
  for (const encoding of encodings.toReversed()) bytes = await decodeOnce(bytes, encoding, maxBytes);
  return bytes;
}

async function decodeOnce(bytes: Uint8Array, encoding: ContentEncoding, maxBytes: number): Promise<Uint8Array> {
  try {
    return await run(createDecoder(encoding, bytes), bytes, maxBytes);
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    const plain = encoding === "gzip" ? await passOver(bytes, maxBytes) : null;
    if (plain === null) throw badEncoding(cause);
    return plain;
  }
}

/**
 * Decodes a gzip body with other bytes after it, as some servers send and browsers accept. Returns null for any other
 * error.
 * @throws HttpError 413
 */
async function passOver(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | null> {
  const source = new ByteSource([bytes]);
  try {
    const plain = await gather(gunzip(source, CHUNK), maxBytes);
    return await source.peek() === null ? null : plain;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    return null;
  } finally {
    source.end();
  }
}

function badEncoding(cause: unknown): HttpError {
  return new HttpError(502, "upstream_bad_encoding", "The upstream's response does not match its Content-Encoding.", {
    cause,
  });
}

/** Runs a decoder over all bytes. @throws HttpError 413, and the decoder's errors */
async function run(decoder: Transform, bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  decoder.end(bytes);
  try {
    return await gather(decoder, maxBytes);
  } finally {
    decoder.destroy();
  }
}

/** Joins all chunks. @throws HttpError 413 */
async function gather(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const out: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    out.push(chunk);
    length += chunk.byteLength;
    if (length > maxBytes) throw responseTooLarge(maxBytes);
  }
  return Buffer.concat(out, length);
}

/** Bytes per decoded chunk. */
const CHUNK = 64 * 1024;
