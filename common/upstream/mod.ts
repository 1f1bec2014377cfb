export type { AnswerBody } from "./answer.ts";
export type { UpstreamConnection } from "./connection.ts";
export { exchange, type UpstreamAnswer } from "./exchange.ts";
export { PoolExhausted, type PoolLimits, UpstreamPool } from "./pool.ts";
export { serializeRequestHead } from "./request.ts";
export * from "./types.ts";
