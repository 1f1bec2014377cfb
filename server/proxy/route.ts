import { HttpError } from "../../common/http_error.ts";
import type { Answer } from "./answer.ts";
import type { Exchange } from "../../common/listener/mod.ts";

/** Answers one path of the proxy. Throws `HttpError`. */
export type Route = (exchange: Exchange) => Promise<Answer>;

/** 405 that says which methods there are. */
export function methodNotAllowed(allow: string): HttpError {
  return new HttpError(405, "method_not_allowed", `This path answers to ${allow} only.`, { headers: { allow } });
}
