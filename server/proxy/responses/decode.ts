import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { type ContentEncoding, createDecoder, parseEncodings } from "../../../net/body/content_encoding.ts";
import { ByteSource, gunzip } from "../../../net/body/gunzip.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { ResponseBody } from "../../../net/upstream/mod.ts";
import type { HopResponse } from "../perform/upstream.ts";

/** A whole body in memory. */
export interface DecodedBody {
  /** Content decoded where its encoding is known. */
  bytes: Uint8Array;
  /** Bytes that came over the wire, before decoding. */
  wireBytes: number;
}

/**
 * Reads an answer's body whole and undoes its Content-Encoding.
 * @param maxBytes counts before and after decoding, so that a small bomb stays small
 * @throws HttpError 413 `answer_too_large`, 502 `upstream_bad_encoding`, or what ended the body early.
 */
export async function readDecoded(answer: HopResponse, maxBytes: number): Promise<DecodedBody> {
  refuseAnnounced(answer, maxBytes);
  const wire = await collect(answer.body, maxBytes);
  const fields = answer.headers.filter(([name]) => name.toLowerCase() === "content-encoding");
  const codings = parseEncodings(fields.map(([, value]) => value)) ?? [];
  if (codings.length === 0 || wire.byteLength === 0) return { bytes: wire, wireBytes: wire.byteLength };
  const bytes = await decode(wire, codings, maxBytes);
  return { bytes, wireBytes: wire.byteLength };
}

/** Ends an answer that says itself that it is too large. @throws HttpError 413 */
export function refuseAnnounced(answer: HopResponse, maxBytes: number): void {
  const length = answer.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  if (length === undefined || !(Number(length) > maxBytes) || !answer.hasBody) return;
  const error = answerTooLarge(maxBytes);
  answer.body.cancel();
  throw error;
}

/** 413 for an answer beyond the limit. */
export function answerTooLarge(maxBytes: number): HttpError {
  return new HttpError(413, "answer_too_large", `The upstream's answer is larger than ${maxBytes} bytes.`, {
    details: "Raise maxBytes as far as this server allows, or ask for a streamed answer.",
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
    const error = answerTooLarge(maxBytes);
    body.cancel();
    throw error;
  }
  return all.length === 1 ? all[0] : Buffer.concat(all, bytes);
}

async function decode(wire: Uint8Array, codings: readonly ContentEncoding[], maxBytes: number): Promise<Uint8Array> {
  let bytes = wire;
  // The limit keeps a list of encodings from growing work without end as well: each may not exceed it.
  for (const coding of codings.toReversed()) bytes = await decodeOnce(bytes, coding, maxBytes);
  return bytes;
}

async function decodeOnce(bytes: Uint8Array, coding: ContentEncoding, maxBytes: number): Promise<Uint8Array> {
  try {
    return await run(createDecoder(coding, bytes), bytes, maxBytes);
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    const plain = coding === "gzip" ? await passOver(bytes, maxBytes) : null;
    if (plain === null) throw badEncoding(cause);
    return plain;
  }
}

/**
 * A whole gzip body where bytes follow that begin no other member, as some servers send; browsers pass those over, while
 * zlib fails. Null where that is not so. @throws HttpError 413
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
  return new HttpError(502, "upstream_bad_encoding", "The upstream's answer is not encoded as it says.", { cause });
}

/** All that a decoder makes of the bytes. @throws HttpError 413, and what the decoder does */
async function run(decoder: Transform, bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  decoder.end(bytes);
  try {
    return await gather(decoder, maxBytes);
  } finally {
    decoder.destroy();
  }
}

/** All pieces as one. @throws HttpError 413 */
async function gather(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const out: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    out.push(piece);
    length += piece.byteLength;
    if (length > maxBytes) throw answerTooLarge(maxBytes);
  }
  return Buffer.concat(out, length);
}

/** Bytes that are made at a time. */
const CHUNK = 64 * 1024;
