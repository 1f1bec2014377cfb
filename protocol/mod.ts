export { copyBytes } from "./bytes.ts";
export * from "./limits.ts";
export * from "./version.ts";
export * from "./reasons.ts";
export { HEADROOM, type Transport } from "./outbox.ts";
export { ProtocolError } from "./frames.ts";
export type { HeadWriter } from "./frame_writer.ts";
export { MuxStream, StreamEnded, type StreamHandler, SWITCHING_PROTOCOLS } from "./stream.ts";
export { Mux, type MuxOptions, type RequestFlags } from "./mux.ts";
