export type { AnswerBody } from "./answer_body.ts";
export { toUpstreamError, upstreamTimeout } from "./errors.ts";
export type { Ending, Upstream, UpstreamAnswer, UpstreamOptions, UpstreamRequest } from "./types.ts";
export { createUpstream } from "./upstream.ts";
