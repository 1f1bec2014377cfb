import type { AlarmClock } from "./alarm_clock.ts";
import type { Answer } from "./answer.ts";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { type DescriptionMemory, isSmall } from "./description_memory.ts";
import type { Gate } from "./gate.ts";
import type { AnswerFormat, Job } from "./job.ts";
import { parseJob, readFormat } from "./parse_job.ts";
import type { Perform } from "./perform.ts";
import { proxyscotchFailure, proxyscotchStatus } from "./proxyscotch.ts";
import { readBytes } from "./read_bytes.ts";
import { methodNotAllowed, type Route } from "./route.ts";
import { toUpstreamError } from "./upstream/mod.ts";

export interface RequestRouteOptions {
  gate: Gate;
  perform: Perform;
  /** Callers of proxyscotch send forms to the same address. */
  form: Route;
  memory: DescriptionMemory;
  clock: AlarmClock;
  /** Milliseconds that a caller may pause in a description. */
  timeoutMs: number;
  maxDescriptionBytes: number;
}

/** `POST /proxy/request`: a description in JSON, ours or proxyscotch's. */
export function createRequestRoute(options: RequestRouteOptions): Route {
  const { gate, perform, form, memory, clock, timeoutMs, maxDescriptionBytes } = options;

  return async (exchange) => {
    if (exchange.method === "GET") return proxyscotchStatus("", gate.isProtected);
    if (exchange.method !== "POST") throw methodNotAllowed("GET, POST, OPTIONS");
    if (/^multipart\/form-data\b/i.test(exchange.header("content-type") ?? "")) return await form(exchange);
    gate.checkSize(exchange, maxDescriptionBytes);
    gate.checkHeaderToken(exchange);
    if (isSmall(exchange)) return await answer(exchange, await exchange.request.text());
    const held = memory.open();
    try {
      const bytes = await readBytes(exchange, { maxBytes: maxDescriptionBytes, held, clock, idleMs: timeoutMs });
      return await answer(exchange, new TextDecoder().decode(bytes));
    } finally {
      held.close();
    }
  };

  async function answer(exchange: Exchange, text: string): Promise<Answer> {
    const input = parseJson(text);
    return await answerIn(readFormat(input), async () => {
      const job: Job = parseJob(input, "GET");
      gate.checkToken(exchange, job.accessToken);
      return await perform(job, { content: job.description.body }, exchange);
    });
  }
}

/** Runs `work` and tells its errors as the format wants them told. */
export async function answerIn(format: AnswerFormat, work: () => Promise<Answer>): Promise<Answer> {
  if (format.kind === "portway") return await work();
  try {
    return await work();
  } catch (error) {
    return proxyscotchFailure(error instanceof HttpError ? error : toUpstreamError(error));
  }
}

/** A JSON text. @throws HttpError 400 `json_invalid`; the text itself, which may hold secrets, is not repeated. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, "json_invalid", "The description is not valid JSON.");
  }
}
