import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { createInflateRaw } from "node:zlib";
import { type BodyCoding, createDecoder, parseCodings } from "../../../common/body_coding.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { AnswerBody } from "../../../common/upstream/mod.ts";
import type { HopAnswer } from "../perform/upstream.ts";

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
export async function readDecoded(answer: HopAnswer, maxBytes: number): Promise<DecodedBody> {
  refuseAnnounced(answer, maxBytes);
  const wire = await collect(answer.body, maxBytes);
  const fields = answer.headers.filter(([name]) => name.toLowerCase() === "content-encoding");
  const codings = parseCodings(fields.map(([, value]) => value)) ?? [];
  if (codings.length === 0 || wire.byteLength === 0) return { bytes: wire, wireBytes: wire.byteLength };
  const bytes = await decode(wire, codings, maxBytes);
  return { bytes, wireBytes: wire.byteLength };
}

/** Ends an answer that says itself that it is too large. @throws HttpError 413 */
export function refuseAnnounced(answer: HopAnswer, maxBytes: number): void {
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

async function collect(body: AnswerBody, maxBytes: number): Promise<Uint8Array> {
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

async function decode(wire: Uint8Array, codings: readonly BodyCoding[], maxBytes: number): Promise<Uint8Array> {
  let bytes = wire;
  // The limit keeps a list of encodings from growing work without end as well: each may not exceed it.
  for (const coding of codings.toReversed()) bytes = await decodeOnce(bytes, coding, maxBytes);
  return bytes;
}

async function decodeOnce(bytes: Uint8Array, coding: BodyCoding, maxBytes: number): Promise<Uint8Array> {
  try {
    return await run(createDecoder(coding, bytes), bytes, maxBytes);
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    const member = coding === "gzip" ? await cutMember(bytes, (rest) => measureDeflate(rest, maxBytes)) : null;
    if (member !== null) return await decodeOnce(member, coding, maxBytes);
    throw badEncoding(cause);
  }
}

/** How many of the bytes are the bare deflate that they begin with. @throws HttpError 413, 502 */
async function measureDeflate(bytes: Uint8Array, maxBytes: number): Promise<number> {
  const decoder = createInflateRaw();
  await run(decoder, bytes, maxBytes).catch((cause) => {
    throw cause instanceof HttpError ? cause : badEncoding(cause);
  });
  return decoder.bytesWritten;
}

function badEncoding(cause: unknown): HttpError {
  return new HttpError(502, "upstream_bad_encoding", "The upstream's answer is not encoded as it says.", { cause });
}

/** All that a decoder makes of the bytes. @throws HttpError 413, and what the decoder does */
async function run(decoder: Transform, bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const out: Uint8Array[] = [];
  let length = 0;
  decoder.end(bytes);
  try {
    for await (const chunk of decoder) {
      out.push(chunk);
      length += chunk.byteLength;
      if (length > maxBytes) throw answerTooLarge(maxBytes);
    }
  } finally {
    decoder.destroy();
  }
  return Buffer.concat(out, length);
}

const ID = [0x1f, 0x8b, 8];
const FIXED_BYTES = 10;
const TRAILER_BYTES = 8;
/** Bits of the flags (RFC 1952, section 2.3.1): what else the header holds. */
const HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16;

/**
 * The first gzip member where bytes follow that begin no other one, as some servers send; browsers pass those over,
 * while zlib fails. Null where that is not so.
 * @param inflate undoes the bare deflate that `bytes` begin with, and resolves with how many bytes of them it was.
 * @throws what `inflate` does
 */
async function cutMember(
  bytes: Uint8Array,
  inflate: (bytes: Uint8Array) => Promise<number>,
): Promise<Uint8Array | null> {
  const start = skipHeader(bytes);
  const end = start + await inflate(bytes.subarray(start)) + TRAILER_BYTES;
  return end < bytes.length && !beginsMember(bytes, end) ? bytes.subarray(0, end) : null;
}

const beginsMember = (bytes: Uint8Array, at: number): boolean => ID.every((byte, index) => bytes[at + index] === byte);

/** The offset of the compressed data; beyond the end when the header is cut short. */
function skipHeader(bytes: Uint8Array): number {
  const flags = bytes[3];
  let at = FIXED_BYTES;
  if (flags & HAS_EXTRA) at += 2 + bytes[at] + (bytes[at + 1] << 8);
  for (const flag of [HAS_NAME, HAS_COMMENT]) {
    if (!(flags & flag)) continue;
    const zero = bytes.indexOf(0, at);
    at = zero < 0 ? bytes.length : zero + 1;
  }
  return flags & HAS_CRC ? at + 2 : at;
}
