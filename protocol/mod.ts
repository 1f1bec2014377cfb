export { copyBytes } from "./outbox.ts";
export * from "./limits.ts";
export * from "./version.ts";
export * from "./reasons.ts";
export { HEADROOM, type Transport } from "./outbox.ts";
export { ProtocolError } from "./frames.ts";
export type { HeadWriter } from "./outbox.ts";
export { MuxStream, StreamEnded, type StreamHandler, SWITCHING_PROTOCOLS } from "./stream.ts";
export { Mux, type MuxOptions, type RequestFlags } from "./mux.ts";
