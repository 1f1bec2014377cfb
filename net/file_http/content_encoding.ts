import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { HAS_ZSTD } from "../body/zstd.ts";
import { streamPieces } from "./read_file.ts";

/** A content encoding that this side can apply. */
export type Coding = "zstd" | "br" | "gzip";

/** Best first: for a listing, zstd produces half the size and needs a fifth as long as the others. */
const CODINGS: readonly Coding[] = HAS_ZSTD ? ["zstd", "br", "gzip"] : ["br", "gzip"];

/** As fast as gzip's default level, with a smaller result. Brotli's default level suits files that are compressed once. */
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Smallest response in bytes that is worth compressing. */
export const MIN_CODED = 1024;

/**
 * Returns the encodings that a client accepts (RFC 9110, section 12.5.3), sorted by weight and then as in
 * `known`. Weight 0 excludes an encoding.
 */
export function parseAcceptEncoding<T extends string>(field: string | null, known: readonly T[]): T[] {
  const weights = new Map<string, number>();
  for (const item of (field ?? "").toLowerCase().split(",")) {
    const [name, ...parameters] = item.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    if (name !== "") weights.set(name, Number(weight) || 0);
  }
  const weigh = (coding: string) => weights.get(coding) ?? weights.get("*") ?? 0;
  return known.filter((coding) => weigh(coding) > 0).sort((a, b) => weigh(b) - weigh(a));
}

/** Returns the best encoding for a client, or null. */
export function chooseEncoding(acceptEncoding: string | null): Coding | null {
  return acceptEncoding === null ? null : parseAcceptEncoding(acceptEncoding, CODINGS)[0] ?? null;
}

/** Returns whether compression makes files with that type smaller: text, and a few uncompressed formats. */
export function isCompressible(type: string): boolean {
  const name = type.split(";", 1)[0];
  return /^text\/(?!event-stream$)|[/+](?:json|xml|javascript|yaml|toml|sql)$/.test(name) ||
    /^(?:application\/(?:wasm|x-ndjson|jsonl|rtf|x-subrip|manifest\+json)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon))$/
      .test(name);
}

/** Compresses bytes synchronously. */
export function compressSync(bytes: Uint8Array, coding: Coding): Uint8Array<ArrayBuffer> {
  if (coding === "zstd") return copy(zlib.zstdCompressSync(bytes));
  return copy(coding === "br" ? zlib.brotliCompressSync(bytes, BROTLI) : zlib.gzipSync(bytes));
}

const [gzip, brotli] = [
  promisify(zlib.gzip),
  promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress),
];

async function compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array<ArrayBuffer>> {
  // zstd needs a millisecond for 800 kB, so a thread is not worth it.
  if (coding === "zstd") return compressSync(bytes, coding);
  return copy(coding === "br" ? await brotli(bytes, BROTLI) : await gzip(bytes));
}

/** Copies bytes, because the runtime may return a view on a shared buffer. */
function copy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

/** Compresses chunks as they arrive. Ending the stream ends `chunks`. */
export function streamCoded(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
  coding: Coding,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return streamPieces(encodeChunks(chunks, coding));
}

async function* encodeChunks(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
  coding: Coding,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const coder = coding === "zstd"
    ? zlib.createZstdCompress()
    : coding === "br"
    ? zlib.createBrotliCompress(BROTLI)
    : zlib.createGzip();
  // Reading the encoder throws its error.
  pipeline(Readable.from(chunks, { objectMode: true }), coder, () => {});
  for await (const chunk of coder) yield copy(chunk);
}

/** Returns the strong entity tag for a compressed form, whose bytes differ from the plain form. */
export function tagCoded(tag: string, coding: string): string {
  return `${tag.slice(0, -1)}-${coding}"`;
}

/** Returns the plain form's entity tag for a compressed form's tag. */
export function tagPlain(tag: string): string {
  return tag.replace(/-(?:zstd|br|gzip)"$/, '"');
}

/** Largest response in bytes that is compressed at once. Larger ones are compressed while they are sent. */
const MAX_WHOLE = 2 * 1024 * 1024;

/**
 * Compresses a generated response, such as a listing, if it is large enough and the client accepts it. Files need
 * {@link answerFile} instead, because they have entity tags and ranges.
 */
export async function codeAnswer(acceptEncoding: string | null, response: Response): Promise<Response> {
  const { headers } = response;
  if (response.body === null || !isCompressible(headers.get("content-type") ?? "")) return response;
  const length = Number(headers.get("content-length") ?? Infinity);
  const coding = length < MIN_CODED ? null : chooseEncoding(acceptEncoding);
  const answer = new Headers(headers);
  answer.set("vary", [headers.get("vary"), "accept-encoding"].filter((name) => name !== null).join(", "));
  if (coding === null) return new Response(response.body, { status: response.status, headers: answer });
  answer.set("content-encoding", coding);
  if (length > MAX_WHOLE) {
    answer.delete("content-length");
    return new Response(streamCoded(response.body, coding), { status: response.status, headers: answer });
  }
  const bytes = await compress(new Uint8Array(await response.arrayBuffer()), coding);
  answer.set("content-length", String(bytes.length));
  return new Response(bytes, { status: response.status, headers: answer });
}
