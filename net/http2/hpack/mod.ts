export { HpackDecoder, HpackError, type OnField } from "./hpack_decoder.ts";
export { FIELD_OVERHEAD, STATUS_SIZE, writeField, writeStatus } from "./hpack_encoder.ts";
