export { type ChunkedDecoder, createChunkedDecoder } from "./chunked.ts";
export { CONNECTION_FIELDS } from "./connection_fields.ts";
export * from "./field_lines.ts";
export * from "./response_head.ts";
export { decodeLatin1, encodeLatin1 } from "./latin1.ts";
export * from "./request_head.ts";
export { dropForbiddenTrailers } from "./trailer_fields.ts";
