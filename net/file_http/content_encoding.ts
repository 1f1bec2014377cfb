import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { HAS_ZSTD } from "../body/zstd.ts";
import { streamPieces } from "./read_file.ts";

/** A content coding that we can make. */
export type Coding = "zstd" | "br" | "gzip";

/** Best first: of a listing zstd makes half of what the others make, in a fifth of the time. */
const CODINGS: readonly Coding[] = HAS_ZSTD ? ["zstd", "br", "gzip"] : ["br", "gzip"];

/** As quick as gzip's usual level and smaller; the usual level of brotli is made for files that are packed once. */
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Below so many bytes a coded answer is hardly shorter, and both ends have work with it. */
export const MIN_CODED = 1024;

/**
 * The codings that a visitor takes (RFC 9110, section 12.5.3), by weight and then by our order; those of weight 0 are
 * left out.
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

/** The coding to make for a visitor; null for none. */
export function chooseEncoding(acceptEncoding: string | null): Coding | null {
  return acceptEncoding === null ? null : parseAcceptEncoding(acceptEncoding, CODINGS)[0] ?? null;
}

/** Whether what has that type becomes shorter: text does, and a few others that nobody has packed yet. */
export function isCompressible(type: string): boolean {
  const name = type.split(";", 1)[0];
  return /^text\/(?!event-stream$)|[/+](?:json|xml|javascript|yaml|toml|sql)$/.test(name) ||
    /^(?:application\/(?:wasm|x-ndjson|jsonl|rtf|x-subrip|manifest\+json)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon))$/
      .test(name);
}

/** Codes bytes at once. */
export function compressSync(bytes: Uint8Array, coding: Coding): Uint8Array<ArrayBuffer> {
  if (coding === "zstd") return copy(zlib.zstdCompressSync(bytes));
  return copy(coding === "br" ? zlib.brotliCompressSync(bytes, BROTLI) : zlib.gzipSync(bytes));
}

const [gzip, brotli] = [
  promisify(zlib.gzip),
  promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress),
];

async function compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array<ArrayBuffer>> {
  // Quick enough to be done at once, a millisecond for 800 kB.
  if (coding === "zstd") return compressSync(bytes, coding);
  return copy(coding === "br" ? await brotli(bytes, BROTLI) : await gzip(bytes));
}

/** What comes from the runtime may lie in memory that it shares with others. */
function copy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

/** Codes pieces as they come. Ending the stream ends `pieces`. */
export function streamCoded(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  coding: Coding,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return streamPieces(codePieces(pieces, coding));
}

async function* codePieces(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  coding: Coding,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const coder = coding === "zstd"
    ? zlib.createZstdCompress()
    : coding === "br"
    ? zlib.createBrotliCompress(BROTLI)
    : zlib.createGzip();
  // What goes wrong is thrown where the coder is read.
  pipeline(Readable.from(pieces, { objectMode: true }), coder, () => {});
  for await (const piece of coder) yield copy(piece);
}

/** The strong tag of a coded form, which other bytes than the plain one has. */
export function tagCoded(tag: string, coding: string): string {
  return `${tag.slice(0, -1)}-${coding}"`;
}

/** The tag of the plain form that a coded one was made of. */
export function tagPlain(tag: string): string {
  return tag.replace(/-(?:zstd|br|gzip)"$/, '"');
}

/** Bytes of an answer that are coded in one go; longer ones are coded while they are sent. */
const MAX_WHOLE = 2 * 1024 * 1024;

/**
 * Codes an answer that is made for one visitor, as a listing is, when it is worth it and the visitor can read it.
 * Files are not for this: they have tags and ranges.
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
