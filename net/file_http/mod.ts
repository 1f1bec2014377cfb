/** Files over HTTP (RFC 9110): conditions, ranges, types, tags. What clients share and what servers serve go through it. */
export { type ByteRange, type ContentRange, parseContentRange } from "./byte_range.ts";
export { chooseEncoding, codeAnswer, type Coding, compressSync, parseAcceptEncoding } from "./content_encoding.ts";
export { checkConditions, parseHttpDate, preconditionFailed, type Representation } from "./conditions.ts";
export { getMediaType } from "./content_type.ts";
export { IS_DENO } from "./deno.ts";
export { createEntityTag, hasStrongMatch } from "./entity_tag.ts";
export { answerFile, type CodedForm, type FileResponseOptions } from "./file_response.ts";
export type { FieldReader, FileRequest, FileSource } from "./file_source.ts";
export { withoutBody } from "./head_response.ts";
export { HAS_PROC, readBytes, readPieces } from "./read_file.ts";
export { streamPieces } from "./stream_chunks.ts";
export { readFully } from "./read_fully.ts";
