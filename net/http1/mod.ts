export { type ChunkedDecoder, createChunkedDecoder } from "./chunked.ts";
export * from "./field_lines.ts";
export * from "./response_head.ts";
export * from "./request_head.ts";
export { dropForbiddenTrailers } from "./trailer_fields.ts";
