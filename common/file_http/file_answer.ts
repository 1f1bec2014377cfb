import { HttpError } from "../http_error.ts";
import { parseByteRange } from "./byte_range.ts";
import { evaluateConditions, isRangeCurrent, preconditionFailed } from "./conditions.ts";
import { CHARSET_SAMPLE, detectCharset, getMediaType, isTextType } from "./content_type.ts";
import { createEntityTag } from "./entity_tag.ts";
import { readBytes, streamFile } from "./read_file.ts";
import type { FileRequest, FileSource } from "./file_source.ts";

export interface FileAnswerOptions {
  /** Name that the type is told by. */
  name: string;
  /** Fields of the answer besides those about the file itself. */
  headers?: Readonly<Record<string, string>>;
  /** Status of an answer with the whole file. Default 200; another one switches ranges and conditions off. */
  status?: number;
  /** Told when the bytes are a coded form of another file. */
  coded?: CodedForm;
  /** The answer goes straight to the socket of a server in this process, as `FetchInfo` tells. */
  isDirect?: boolean;
}

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
export function answerFile(request: FileRequest, file: FileSource, options: FileAnswerOptions): Response {
  let isHandedOver = false;
  try {
    const plan = planAnswer(request, file, options);
    if (plan.length === 0 || request.method === "HEAD") return new Response(null, plan);
    if (plan.length <= WHOLE_LIMIT) return answerWhole(file, plan);
    isHandedOver = true;
    return new Response(streamFile(file, plan.start, plan.length, options.isDirect ?? false), plan);
  } finally {
    if (!isHandedOver) file.close();
  }
}

interface Plan {
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

function planAnswer(request: FileRequest, file: FileSource, options: FileAnswerOptions): Plan {
  const { size, mtimeMs } = file.stat;
  const tag = createEntityTag(file.stat);
  const isPlain = options.status === undefined;
  const headers: Record<string, string> = { ...options.headers, "etag": tag, "x-content-type-options": "nosniff" };
  const current = { tag, modified: mtimeMs };
  const verdict = isPlain ? evaluateConditions(request.method, request.headers, current) : "proceed";
  if (verdict === "failed") throw preconditionFailed(tag);
  headers["last-modified"] = new Date(mtimeMs).toUTCString();
  if (verdict === "not_modified") return { status: 304, headers, start: 0, length: 0 };
  headers["content-type"] = file.type ??= describeType(options.coded?.plain ?? file, options.name);
  if (options.coded !== undefined) headers["content-encoding"] = options.coded.encoding;
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
  return { status, headers, start, length };
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
