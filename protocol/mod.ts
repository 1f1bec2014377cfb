export { copyBytes } from "./outbox.ts";
export * from "./limits.ts";
export * from "./version.ts";
export * from "./reasons.ts";
export type { HeadWriter, Transport } from "./outbox.ts";
export { MuxStream, StreamEnded, type StreamHandler, SWITCHING_PROTOCOLS } from "./stream.ts";
export { Mux, type MuxOptions, type RequestFlags } from "./mux.ts";
