import type { AlarmClock } from "./alarm_clock.ts";
import type { Answer } from "./answer.ts";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { giveBackTaken } from "../../common/chunk_memory.ts";
import { fieldError } from "./description.ts";
import type { DescriptionMemory, HeldMemory } from "./description_memory.ts";
import { descriptionMissing, readFormDescription } from "./form_description.ts";
import { hasReference, takeField } from "./form_fields.ts";
import { insertFiles, openReference } from "./form_files.ts";
import { bodyTooLarge, type Gate } from "./gate.ts";
import type { Job } from "./job.ts";
import type { HeaderList } from "./outgoing_headers.ts";
import { parseJob, readFormat } from "./parse_job.ts";
import type { OutgoingBody, Perform } from "./perform.ts";
import { answerIn, parseJson } from "./request.ts";
import { readBytes } from "./read_bytes.ts";
import { methodNotAllowed, type Route } from "./route.ts";
import { watchPauses } from "./watch_pauses.ts";

export interface FormRouteOptions {
  gate: Gate;
  perform: Perform;
  /** Folder that `file:` references may name files in, or null. */
  files: string | null;
  memory: DescriptionMemory;
  clock: AlarmClock;
  /** Milliseconds that a caller may pause in a description. */
  timeoutMs: number;
  maxDescriptionBytes: number;
  maxUploadBytes: number;
}

/** Name of the part or field that describes the request; proxyscotch's callers use the second. */
const DESCRIBING_NAMES = ["request", "proxyRequestData"];
/** In this header proxyscotch's callers tell the name of the describing part, which they put behind all others. */
const PART_KEY = "multipart-part-key";

/** A form without the part that described it: what is sent to the target. */
interface Forwarded {
  job: Job;
  body: OutgoingBody;
  /** With boundary and all. */
  contentType: string;
}

/**
 * `POST /proxy/form`: the first part describes the request, all others are sent to its target byte for byte as
 * they arrive. Only with a folder for files are they looked at on the way, for references to put files in place of.
 */
export function createFormRoute(options: FormRouteOptions): Route {
  const { gate, perform, files, memory, maxDescriptionBytes, maxUploadBytes } = options;
  const pauses = { clock: options.clock, idleMs: options.timeoutMs };

  return async (exchange) => {
    if (exchange.method !== "POST") throw methodNotAllowed("POST, OPTIONS");
    const partKey = exchange.header(PART_KEY);
    if (partKey === null) return await answerForm(exchange, null);
    return await answerIn({ kind: "proxyscotch", wantsBinary: false }, () => answerForm(exchange, partKey));
  };

  async function answerForm(exchange: Exchange, partKey: string | null): Promise<Answer> {
    gate.checkHeaderToken(exchange);
    const held = memory.open();
    try {
      const type = exchange.header("content-type") ?? "";
      if (/^application\/x-www-form-urlencoded\b/i.test(type)) return await answerFields(exchange, held);
      const boundary = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
      if (!boundary) {
        throw new HttpError(415, "form_expected", "A multipart/form-data or urlencoded form is expected here.");
      }
      return await answerParts(exchange, boundary[1] ?? boundary[2], partKey, held);
    } finally {
      held.close();
    }
  }

  async function answerFields(exchange: Exchange, held: HeldMemory): Promise<Answer> {
    gate.checkSize(exchange, maxDescriptionBytes);
    const fields = takeField(
      await readBytes(exchange, { maxBytes: maxDescriptionBytes, held, ...pauses }),
      DESCRIBING_NAMES,
    );
    if (fields === null) throw descriptionMissing();
    const input = parseJson(fields.text);
    return await answerIn(readFormat(input), async () => {
      const job = readJob(input, exchange);
      if (files !== null && hasReference(fields.rest)) {
        throw new HttpError(400, "file_reference_misplaced", "Files can be put into multipart forms only.");
      }
      const body = { content: fields.rest };
      return await forward(exchange, { job, body, contentType: "application/x-www-form-urlencoded" });
    });
  }

  async function answerParts(
    exchange: Exchange,
    boundary: string,
    partKey: string | null,
    held: HeldMemory,
  ): Promise<Answer> {
    gate.checkSize(exchange, maxUploadBytes);
    if (exchange.body === null) throw descriptionMissing();
    const { chunks, stop } = watchPauses(exchange.body, pauses);
    const { text, rest, removedBytes } = await readFormDescription(limitBytes(chunks, maxUploadBytes), {
      boundary,
      names: partKey === null ? DESCRIBING_NAMES : [partKey],
      anywhere: partKey !== null,
      maxBytes: maxDescriptionBytes,
      hold: held.add,
    }).finally(stop);
    const input = parseJson(text);
    return await answerIn(readFormat(input), async () => {
      const job = readJob(input, exchange);
      const source = giveBackTaken(rest);
      if (files !== null) {
        const { body, contentType } = insertFiles(source, boundary, (path) => openReference(files, path));
        return await forward(exchange, { job, body: { content: body }, contentType });
      }
      const announced = exchange.header("content-length");
      const length = announced === null ? undefined : Number(announced) - removedBytes;
      const contentType = `multipart/form-data; boundary=${quoteBoundary(boundary)}`;
      return await forward(exchange, { job, body: { content: source, length }, contentType });
    });
  }

  function readJob(input: unknown, exchange: Exchange): Job {
    const job = parseJob(input, "POST");
    gate.checkToken(exchange, job.accessToken);
    return job;
  }

  async function forward(exchange: Exchange, { job, body, contentType }: Forwarded): Promise<Answer> {
    const { description } = job;
    if (description.method === "GET" || description.method === "HEAD") {
      throw fieldError("method", "must be one that carries a form");
    }
    if (description.body !== null && job.format.kind === "portway") {
      throw fieldError("body", "cannot be given: the form is the body");
    }
    const headers: HeaderList = description.headers.filter(([name]) => name.toLowerCase() !== "content-type");
    headers.push(["Content-Type", contentType]);
    return await perform({ ...job, description: { ...description, headers } }, body, exchange);
  }
}

/** @throws HttpError 413 when more arrives than may. */
async function* limitBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    yield chunk;
  }
}

/** Bare where a token may be (RFC 9110, section 5.6.6), as some servers do not read quotes. */
function quoteBoundary(boundary: string): string {
  return /^[\w'+.-]+$/.test(boundary) ? boundary : `"${boundary}"`;
}
