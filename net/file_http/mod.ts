/** Files over HTTP (RFC 9110): conditions, ranges, media types, entity tags and compression. */
export { type ByteRange, type ContentRange, parseContentRange } from "./byte_range.ts";
export { chooseEncoding, codeAnswer, type Coding, compressSync, parseAcceptEncoding } from "./content_encoding.ts";
export { checkConditions, createEntityTag, hasStrongMatch, parseHttpDate, preconditionFailed } from "./conditions.ts";
export type { Representation } from "./conditions.ts";
export { getMediaType } from "./content_type.ts";
export { answerFile, type CodedForm, type FileResponseOptions, withoutBody } from "./file_response.ts";
export { HAS_PROC, IS_DENO, readBytes, readFully, readPieces, streamPieces } from "./read_file.ts";
export type { FieldReader, FileRequest, FileSource } from "./read_file.ts";
