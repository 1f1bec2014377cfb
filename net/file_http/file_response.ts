import { later } from "../../common/later.ts";
import { HttpError } from "../../common/http_error.ts";
import { type ByteRange, createMultipart, parseByteRanges } from "./byte_range.ts";
import {
  chooseEncoding,
  type Coding,
  compressSync,
  isCompressible,
  MIN_CODED,
  streamCoded,
  tagCoded,
} from "./content_encoding.ts";
import { createEntityTag, evaluateConditions, isRangeCurrent, preconditionFailed } from "./conditions.ts";
import { CHARSET_SAMPLE, detectUnicode, getMediaType, isTextType } from "./content_type.ts";
import { type FileRequest, type FileSource, readBytes, streamFile } from "./read_file.ts";

/** Response properties apart from the file. */
export interface FileResponseOptions {
  /** The name that decides the media type. */
  name: string;
  /** Further header fields. */
  headers?: Readonly<Record<string, string>>;
  /** Status for a response with the whole file. Default 200; another status disables ranges and conditions. */
  status?: number;
  /** Set if the bytes are another file in compressed form. */
  coded?: CodedForm;
  /** Whether to compress text for clients that accept it. Default false. */
  compress?: boolean;
  /** Whether the response goes straight to a socket, as `FetchInfo` reports. */
  isDirect?: boolean;
}

/** Largest file that is compressed at once, and largest file that is compressed at all. */
const WHOLE_CODED = 64 * 1024;
const MAX_CODED = 32 * 1024 * 1024;

/** A file that contains another one in a content encoding, as `app.js.gz` contains `app.js`. */
export interface CodedForm {
  /** The content encoding, e.g. `gzip`. */
  encoding: string;
  /** The plain file: its text decides the charset. The caller closes it. */
  plain: FileSource;
}

/** Largest response that is bytes and no stream, because a stream costs more than one read. */
const WHOLE_LIMIT = 256 * 1024;

/** A response before its body exists. */
interface Plan {
  /** The content encoding to apply, or null. */
  coding: Coding | null;
  status: number;
  headers: Record<string, string>;
  start: number;
  length: number;
  /** Several ranges, instead of `start` and `length`. */
  ranges: readonly ByteRange[] | null;
}

/**
 * Responds to GET or HEAD with a file: conditions, ranges, media type, charset and entity tag (RFC 9110). Closes `file` in
 * every case.
 * @returns a promise only if the charset must be guessed
 * @throws HttpError 412 and 416
 */
export function answerFile(
  request: FileRequest,
  file: FileSource,
  options: FileResponseOptions,
): Response | Promise<Response> {
  let isHandedOver = false;
  try {
    const plan = planResponse(request, file, options), sample = findUnknownText(plan, file, options);
    if (sample === null) {
      isHandedOver = true;
      return createResponse(request, file, options, plan);
    }
    isHandedOver = true;
    return addCharset(file, plan, sample).then(() => createResponse(request, file, options, plan), (error) => {
      file.close();
      throw error;
    });
  } finally {
    if (!isHandedOver) file.close();
  }
}

/**
 * Responds to HEAD like to GET: without the body, but with its length. A response without a body is returned unchanged.
 */
export async function withoutBody(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set("content-length", String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status: response.status, headers });
}

function createResponse(
  request: FileRequest,
  file: FileSource,
  { isDirect = false }: FileResponseOptions,
  plan: Plan,
): Response {
  let isHandedOver = false;
  try {
    const { coding, ranges, length } = plan;
    if (length === 0 || request.method === "HEAD") return new Response(null, plan);
    if (ranges === null && length <= (coding === null ? WHOLE_LIMIT : WHOLE_CODED)) {
      return coding === null ? createWhole(file, plan) : createWholeCoded(file, plan, coding);
    }
    isHandedOver = true;
    if (ranges !== null) return createMultipartResponse(file, plan, ranges);
    if (coding !== null) return new Response(streamCoded(streamFile(file, 0, length, false), coding), plan);
    return new Response(streamFile(file, plan.start, length, isDirect), plan);
  } finally {
    if (!isHandedOver) file.close();
  }
}

function createWhole(file: FileSource, plan: Plan): Response {
  const bytes = readBytes(file, plan.start, plan.length);
  // The file may have become shorter since it was opened; the response has its current length.
  if (bytes.length < plan.length) plan.headers["content-length"] = String(bytes.length);
  return new Response(bytes, plan);
}

function createWholeCoded(file: FileSource, plan: Plan, coding: Coding): Response {
  const coded = file.coded?.get(coding) ?? compressSync(readBytes(file, 0, plan.length), coding);
  if (file.content !== undefined) (file.coded ??= new Map()).set(coding, coded);
  plan.headers["content-length"] = String(coded.length);
  return new Response(coded, plan);
}

function createMultipartResponse(file: FileSource, plan: Plan, ranges: readonly ByteRange[]): Response {
  const { type, length, open } = createMultipart(file, ranges, plan.headers["content-type"]);
  const headers = { ...plan.headers, "content-type": type, "content-length": String(length) };
  return new Response(open(), { status: plan.status, headers });
}

function planResponse(request: FileRequest, file: FileSource, options: FileResponseOptions): Plan {
  const { size, mtimeMs } = file.stat;
  const isPlain = options.status === undefined;
  const mayCode = options.compress === true && options.coded === undefined && isWorthCoding(size, options.name);
  // Ranges refer to the plain form, which is the same in the next request.
  const isPart = isPlain && request.method === "GET" && request.headers.get("range") !== null;
  const coding = mayCode && !isPart ? chooseEncoding(request.headers.get("accept-encoding")) : null;
  const plainTag = createEntityTag(file.stat);
  const tag = coding === null ? plainTag : tagCoded(plainTag, coding);
  const headers: Record<string, string> = { ...options.headers, "etag": tag, "x-content-type-options": "nosniff" };
  if (mayCode) headers["vary"] = "accept-encoding";
  const current = { tag, modified: mtimeMs };
  const verdict = isPlain ? evaluateConditions(request.method, request.headers, current) : "proceed";
  if (verdict === "failed") throw preconditionFailed(tag);
  headers["last-modified"] = new Date(mtimeMs).toUTCString();
  if (verdict === "not_modified") return { coding: null, status: 304, headers, start: 0, length: 0, ranges: null };
  headers["content-type"] = file.type ??= describeType(options.coded?.plain ?? file, options.name);
  if (options.coded !== undefined) headers["content-encoding"] = options.coded.encoding;
  if (coding !== null) {
    headers["content-encoding"] = coding;
    return { coding, status: options.status ?? 200, headers, start: 0, length: size, ranges: null };
  }
  headers["accept-ranges"] = "bytes";
  // GET alone has ranges (RFC 9110, section 14.2).
  const ranges = isPart && isRangeCurrent(request.headers, current)
    ? parseByteRanges(request.headers.get("range"), size)
    : null;
  if (ranges === "unsatisfiable") throw rangeNotSatisfiable(size);
  if (ranges === null) return finishPlan(options.status ?? 200, headers, 0, size);
  if (ranges.length > 1) return { coding: null, status: 206, headers, start: 0, length: size, ranges };
  const [{ start, end }] = ranges;
  headers["content-range"] = `bytes ${start}-${end}/${size}`;
  return finishPlan(206, headers, start, end - start + 1);
}

function finishPlan(status: number, headers: Record<string, string>, start: number, length: number): Plan {
  headers["content-length"] = String(length);
  return { coding: null, status, headers, start, length, ranges: null };
}

/** Compressed formats do not become shorter, small files hardly do, and large files should rather be resumable. */
function isWorthCoding(size: number, name: string): boolean {
  return size >= MIN_CODED && size <= MAX_CODED && isCompressible(getMediaType(name));
}

/** Returns the media type, with a charset for text whose beginning is Unicode. */
function describeType(file: FileSource, name: string): string {
  const type = getMediaType(name);
  if (!isTextType(type)) return type;
  const charset = detectUnicode(readSample(file));
  return charset === null ? type : `${type}; charset=${charset}`;
}

const readSample = (file: FileSource) => readBytes(file, 0, Math.min(file.stat.size, CHARSET_SAMPLE));

/** Returns a sample if the charset is still unknown, or null. */
function findUnknownText({ status }: Plan, file: FileSource, { coded }: FileResponseOptions): Uint8Array | null {
  if (status === 304 || file.type === undefined || file.type.includes(";") || !isTextType(file.type)) return null;
  return file.isCharsetUnknown === true ? null : readSample(coded?.plain ?? file);
}

/** Adds the charset that the text probably has. Without a likely one the browser chooses. */
async function addCharset(file: FileSource, plan: Plan, sample: Uint8Array): Promise<void> {
  const { guessCharset }: typeof import("./guess_charset.ts") = await import(later("./guess_charset.ts"));
  const charset = guessCharset(sample);
  if (charset === null) file.isCharsetUnknown = true;
  else plan.headers["content-type"] = file.type = `${file.type}; charset=${charset}`;
}

function rangeNotSatisfiable(size: number): HttpError {
  return new HttpError(416, "range_not_satisfiable", "The file has no such range.", {
    headers: { "content-range": `bytes */${size}`, "accept-ranges": "bytes" },
  });
}
