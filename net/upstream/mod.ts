export { ResponseBody } from "./response.ts";
export { type BodyOwner, BodyWriter, WriteQueue } from "./body_writer.ts";
export { type Reader, UpstreamConnection } from "./connection.ts";
export { exchange, serializeRequestHead, SignalEnding, type UpstreamResponse } from "./exchange.ts";
export { PoolExhausted, type PoolLimits, UpstreamPool } from "./pool.ts";
export * from "./types.ts";
