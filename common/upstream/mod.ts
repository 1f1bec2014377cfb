export { AnswerBody } from "./answer.ts";
export { type BodyOwner, BodyWriter } from "./body_writer.ts";
export { type Reader, UpstreamConnection } from "./connection.ts";
export { exchange, type UpstreamAnswer } from "./exchange.ts";
export { PoolExhausted, type PoolLimits, UpstreamPool } from "./pool.ts";
export { serializeRequestHead } from "./request.ts";
export { SignalEnding } from "./signal_ending.ts";
export * from "./types.ts";
export { WriteQueue } from "./write_queue.ts";
