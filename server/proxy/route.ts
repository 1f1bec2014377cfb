import type { Exchange } from "../../common/listener/mod.ts";
import type { ProxyAnswer } from "./answer.ts";
import type { RequestRecord } from "./request_log.ts";

/** Answers one path of the proxy, and tells the record what the log is to know. Throws `HttpError`. */
export type Route = (exchange: Exchange, record: RequestRecord) => Promise<ProxyAnswer>;
