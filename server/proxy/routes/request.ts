import { HttpError, methodNotAllowed } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse, Route } from "../response.ts";
import { proxyscotchFailure, proxyscotchStatus } from "../responses/proxyscotch.ts";
import type { AlarmClock } from "../perform/deadline.ts";
import { parseJob, readFormat, type ResponseFormat } from "../describe/job.ts";
import {
  type DescriptionMemory,
  isSmallDescription,
  readDescription,
  readSmall,
} from "../describe/description_bytes.ts";
import type { ProxyGate } from "../gate.ts";
import type { Asking, Performer } from "../perform/perform.ts";
import type { RequestRecord } from "../request_log.ts";
import { toUpstreamError } from "../perform/upstream.ts";

/** What the routes that take descriptions work with. */
export interface DescriptionRouteOptions {
  gate: ProxyGate;
  performer: Performer;
  memory: DescriptionMemory;
  clock: AlarmClock;
  /** Milliseconds that a caller may pause in a description. */
  timeoutMs: number;
  maxDescriptionBytes: number;
}

/** `POST /proxy/request`: a description in JSON, ours or proxyscotch's. */
export class RequestRoute {
  readonly #options: DescriptionRouteOptions;
  readonly #form: Route;

  /** @param form callers of proxyscotch send forms to the same address */
  constructor(options: DescriptionRouteOptions, form: Route) {
    this.#options = options;
    this.#form = form;
  }

  /** @throws HttpError, other than 405 only to callers of ours: those of proxyscotch get a failure as it tells them */
  async answer(exchange: Exchange, record: RequestRecord): Promise<ProxyResponse> {
    const { gate, memory, clock, timeoutMs, maxDescriptionBytes } = this.#options;
    if (exchange.method === "GET") return proxyscotchStatus("", gate.isProtected);
    if (exchange.method !== "POST") throw methodNotAllowed("GET, POST, OPTIONS");
    if (/^multipart\/form-data\b/i.test(exchange.header("content-type") ?? "")) {
      return await this.#form(exchange, record);
    }
    gate.checkSize(exchange, maxDescriptionBytes);
    gate.checkHeaderToken(exchange);
    if (isSmallDescription(exchange)) return await this.#answerText(await readSmall(exchange), { exchange, record });
    const held = memory.open();
    try {
      const bytes = await readDescription(exchange, { maxBytes: maxDescriptionBytes, held, clock, idleMs: timeoutMs });
      return await this.#answerText(new TextDecoder().decode(bytes), { exchange, record });
    } finally {
      held.close();
    }
  }

  async #answerText(text: string, asking: Asking): Promise<ProxyResponse> {
    const { gate, performer } = this.#options;
    const input = readDescriptionJson(text);
    return await answerIn(readFormat(input), asking.record, async () => {
      const job = parseJob(input, "GET");
      gate.checkToken(asking.exchange, job.accessToken);
      return await performer.perform(job, { content: job.description.body }, asking);
    });
  }
}

/** Runs `work` and tells its errors as the format wants them told. */
export async function answerIn(
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

/** A JSON text. @throws HttpError 400 `json_invalid`; the text itself, which may hold secrets, is not repeated. */
export function readDescriptionJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, "json_invalid", "The description is not valid JSON.");
  }
}
