import { HttpError, methodNotAllowed } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse, Route } from "../response.ts";
import { proxyscotchFailure, proxyscotchStatus } from "../responses/json.ts";
import type { AlarmClock } from "../perform/deadline.ts";
import { parseJob, readFormat, type ResponseFormat } from "../describe/job.ts";
import {
  type DescriptionMemory,
  isSmallDescription,
  readDescription,
  readSmall,
} from "../describe/description_bytes.ts";
import type { ProxyGate } from "../gate.ts";
import type { Caller, Performer } from "../perform/perform.ts";
import type { RequestRecord } from "../request_log.ts";
import { toUpstreamError } from "../perform/upstream.ts";

/** Options for routes with descriptions. */
export interface DescriptionRouteOptions {
  gate: ProxyGate;
  performer: Performer;
  memory: DescriptionMemory;
  clock: AlarmClock;
  /** Most milliseconds that a caller may pause in a description. */
  timeoutMs: number;
  maxDescriptionBytes: number;
}

/** `POST /proxy/request`: a JSON description in our format or proxyscotch's. */
export class RequestRoute {
  readonly #options: DescriptionRouteOptions;
  readonly #form: Route;

  /** @param form handles forms, which proxyscotch's clients send to the same path */
  constructor(options: DescriptionRouteOptions, form: Route) {
    this.#options = options;
    this.#form = form;
  }

  /**
   * Handles a request.
   * @throws HttpError; proxyscotch's clients get failures in their own format instead, except 405
   */
  async handle(exchange: Exchange, record: RequestRecord): Promise<ProxyResponse> {
    const { gate, memory, clock, timeoutMs, maxDescriptionBytes } = this.#options;
    if (exchange.method === "GET") return proxyscotchStatus("", gate.isProtected);
    if (exchange.method !== "POST") throw methodNotAllowed("GET, POST, OPTIONS");
    if (/^multipart\/form-data\b/i.test(exchange.header("content-type") ?? "")) {
      return await this.#form(exchange, record);
    }
    gate.checkSize(exchange, maxDescriptionBytes);
    gate.checkHeaderToken(exchange);
    if (isSmallDescription(exchange)) return await this.#performText(await readSmall(exchange), { exchange, record });
    const held = memory.open();
    try {
      const bytes = await readDescription(exchange, { maxBytes: maxDescriptionBytes, held, clock, idleMs: timeoutMs });
      return await this.#performText(new TextDecoder().decode(bytes), { exchange, record });
    } finally {
      held.close();
    }
  }

  async #performText(text: string, caller: Caller): Promise<ProxyResponse> {
    const { gate, performer } = this.#options;
    const input = readDescriptionJson(text);
    return await reportIn(readFormat(input), caller.record, async () => {
      const job = parseJob(input, "GET");
      gate.checkToken(caller.exchange, job.accessToken);
      return await performer.perform(job, { content: job.description.body }, caller);
    });
  }
}

/** Runs `work` and reports its errors in the caller's format. */
export async function reportIn(
  format: ResponseFormat,
  record: RequestRecord,
  work: () => Promise<ProxyResponse>,
): Promise<ProxyResponse> {
  if (format.kind !== "proxyscotch") return await work();
  try {
    return await work();
  } catch (error) {
    const known = error instanceof HttpError ? error : toUpstreamError(error);
    record.code = known.code;
    record.status = known.status;
    return proxyscotchFailure(known);
  }
}

/** Parses a description. @throws HttpError 400 `json_invalid`, without the text, which may contain secrets */
export function readDescriptionJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, "json_invalid", "The description is not valid JSON.");
  }
}
