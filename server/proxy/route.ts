import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import type { Answer } from "./answer.ts";
import type { RequestRecord } from "./request_log.ts";

/** Answers one path of the proxy, and tells the record what the log is to know. Throws `HttpError`. */
export type Route = (exchange: Exchange, record: RequestRecord) => Promise<Answer>;

/** 405 that says which methods there are. */
export function methodNotAllowed(allow: string): HttpError {
  return new HttpError(405, "method_not_allowed", `This path answers to ${allow} only.`, { headers: { allow } });
}
