import { HttpError } from "../../common/http_error.ts";
import { parseByteRange } from "./byte_range.ts";
import {
  chooseEncoding,
  type Coding,
  compressSync,
  isCompressible,
  MIN_CODED,
  streamCoded,
  tagCoded,
} from "./content_encoding.ts";
import { evaluateConditions, isRangeCurrent, preconditionFailed } from "./conditions.ts";
import { CHARSET_SAMPLE, detectCharset, getMediaType, isTextType } from "./content_type.ts";
import { createEntityTag } from "./entity_tag.ts";
import { readBytes, streamFile } from "./read_file.ts";
import type { FileRequest, FileSource } from "./file_source.ts";

/** What an answer with a file says besides the file itself. */
export interface FileResponseOptions {
  /** Name that the type is told by. */
  name: string;
  /** Fields of the answer besides those about the file itself. */
  headers?: Readonly<Record<string, string>>;
  /** Status of an answer with the whole file. Default 200; another one switches ranges and conditions off. */
  status?: number;
  /** Told when the bytes are a coded form of another file. */
  coded?: CodedForm;
  /** Code text on the way for who takes it. Default false. */
  compress?: boolean;
  /** The answer goes straight to a socket, as `FetchInfo` tells. */
  isDirect?: boolean;
}

/** Up to this many bytes a file is coded in one go, and up to the other one at all. */
const WHOLE_CODED = 64 * 1024;
const MAX_CODED = 32 * 1024 * 1024;

/** That a file is another one in a content coding, as `app.js.gz` is `app.js`. */
export interface CodedForm {
  /** The content coding, e.g. `gzip`. */
  encoding: string;
  /** What was coded: its text tells the charset. It stays the caller's. */
  plain: FileSource;
}

/** Up to this many bytes an answer is bytes and no stream: a stream costs more than reading them. */
const WHOLE_LIMIT = 256 * 1024;

/**
 * Answers GET or HEAD with a file: conditions, a single range, type, charset and entity tag (RFC 9110).
 * Takes ownership of `file`: it is closed whatever happens.
 * @throws HttpError 412 and 416
 */
export function answerFile(request: FileRequest, file: FileSource, options: FileResponseOptions): Response {
  let isHandedOver = false;
  try {
    const plan = planResponse(request, file, options);
    if (plan.length === 0 || request.method === "HEAD") return new Response(null, plan);
    if (plan.coding !== null && plan.length <= WHOLE_CODED) return answerWholeCoded(file, plan, plan.coding);
    if (plan.length <= WHOLE_LIMIT && plan.coding === null) return answerWhole(file, plan);
    isHandedOver = true;
    if (plan.coding !== null) {
      return new Response(streamCoded(streamFile(file, 0, plan.length, false), plan.coding), plan);
    }
    return new Response(streamFile(file, plan.start, plan.length, options.isDirect ?? false), plan);
  } finally {
    if (!isHandedOver) file.close();
  }
}

interface Plan {
  /** What the bytes are coded in on the way; null for not at all. */
  coding: Coding | null;
  status: number;
  headers: Record<string, string>;
  start: number;
  length: number;
}

function answerWhole(file: FileSource, plan: Plan): Response {
  const bytes = readBytes(file, plan.start, plan.length);
  // It was cut short between the look and the read: what is there now is sent, with its true length.
  if (bytes.length < plan.length) plan.headers["content-length"] = String(bytes.length);
  return new Response(bytes, plan);
}

function answerWholeCoded(file: FileSource, plan: Plan, coding: Coding): Response {
  const coded = file.coded?.get(coding) ?? compressSync(readBytes(file, 0, plan.length), coding);
  if (file.content !== undefined) (file.coded ??= new Map()).set(coding, coded);
  plan.headers["content-length"] = String(coded.length);
  return new Response(coded, plan);
}

function planResponse(request: FileRequest, file: FileSource, options: FileResponseOptions): Plan {
  const { size, mtimeMs } = file.stat;
  const isPlain = options.status === undefined;
  const mayCode = options.compress === true && options.coded === undefined && isWorthCoding(size, options.name);
  // A part is a part of the plain form: that is the one which is the same at the next request.
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
  if (verdict === "not_modified") return { coding: null, status: 304, headers, start: 0, length: 0 };
  headers["content-type"] = file.type ??= describeType(options.coded?.plain ?? file, options.name);
  if (options.coded !== undefined) headers["content-encoding"] = options.coded.encoding;
  if (coding !== null) {
    headers["content-encoding"] = coding;
    return { coding, status: options.status ?? 200, headers, start: 0, length: size };
  }
  headers["accept-ranges"] = "bytes";
  // Of the methods here only GET has ranges (RFC 9110, section 14.2).
  const range = isPlain && request.method === "GET" && isRangeCurrent(request.headers, current)
    ? parseByteRange(request.headers.get("range"), size)
    : null;
  if (range === "unsatisfiable") throw rangeNotSatisfiable(size);
  if (range === null) return finishPlan(options.status ?? 200, headers, 0, size);
  headers["content-range"] = `bytes ${range.start}-${range.end}/${size}`;
  return finishPlan(206, headers, range.start, range.end - range.start + 1);
}

function finishPlan(status: number, headers: Record<string, string>, start: number, length: number): Plan {
  headers["content-length"] = String(length);
  return { coding: null, status, headers, start, length };
}

/** Packed files become no shorter, small ones hardly, and large ones are rather resumed than packed. */
function isWorthCoding(size: number, name: string): boolean {
  return size >= MIN_CODED && size <= MAX_CODED && isCompressible(getMediaType(name));
}

/** The media type of a file with the charset of its text. */
function describeType(file: FileSource, name: string): string {
  const type = getMediaType(name);
  if (!isTextType(type)) return type;
  return `${type}; charset=${detectCharset(readBytes(file, 0, Math.min(file.stat.size, CHARSET_SAMPLE)))}`;
}

function rangeNotSatisfiable(size: number): HttpError {
  return new HttpError(416, "range_not_satisfiable", "The file has no such range.", {
    headers: { "content-range": `bytes */${size}`, "accept-ranges": "bytes" },
  });
}
