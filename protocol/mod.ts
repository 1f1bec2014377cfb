export { copyBytes } from "./outbox.ts";
export * from "./limits.ts";
export * from "./version.ts";
export * from "./reasons.ts";
export {
  type HeadWriter,
  Opening,
  type RequestStream,
  type Stream,
  StreamEnded,
  type StreamHandler,
  type StreamOpening,
  SWITCHING_PROTOCOLS,
  type Transport,
} from "./types.ts";
export { Mux, type MuxOptions } from "./mux.ts";
