import type { Answer } from "./answer.ts";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { giveBackTaken } from "../../common/chunk_memory.ts";
import { fieldError } from "./description.ts";
import { readFirstPart } from "./first_part.ts";
import { insertFiles, resolveReference } from "./form_files.ts";
import { bodyTooLarge, type Gate } from "./gate.ts";
import type { Job } from "./job.ts";
import type { HeaderList } from "./outgoing_headers.ts";
import { parseJob, readFormat } from "./parse_job.ts";
import type { OutgoingBody, Perform } from "./perform.ts";
import { answerIn, parseJson, readText } from "./request.ts";
import { methodNotAllowed, type Route } from "./route.ts";

export interface FormRouteOptions {
  gate: Gate;
  perform: Perform;
  /** Folder that `file:` references may name files in, or null. */
  files: string | null;
  maxDescriptionBytes: number;
  maxUploadBytes: number;
}

/** Name of the part or field that describes the request; proxyscotch's callers use the second. */
const DESCRIBING_NAMES = ["request", "proxyRequestData"];

/** A form without the part that described it: what is sent to the target. */
interface Forwarded {
  job: Job;
  body: OutgoingBody;
  /** With boundary and all. */
  contentType: string;
}

/**
 * `POST /proxy/form`: the first part describes the request, all others are sent to its target byte for byte as
 * they arrive. Only with a folder for files are they read on the way, for references to put files in place of.
 */
export function createFormRoute(options: FormRouteOptions): Route {
  const { gate, perform, files, maxDescriptionBytes, maxUploadBytes } = options;

  return async (exchange) => {
    if (exchange.method !== "POST") throw methodNotAllowed("POST, OPTIONS");
    const type = exchange.header("content-type") ?? "";
    if (/^application\/x-www-form-urlencoded\b/i.test(type)) return await answerFields(exchange);
    const boundary = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
    if (!boundary) {
      throw new HttpError(415, "form_expected", "A multipart/form-data or urlencoded form is expected here.");
    }
    return await answerParts(exchange, boundary[1] ?? boundary[2]);
  };

  async function answerFields(exchange: Exchange): Promise<Answer> {
    gate.checkSize(exchange, maxDescriptionBytes);
    const fields = [...new URLSearchParams(await readText(exchange, maxDescriptionBytes))];
    const at = fields.findIndex(([name]) => DESCRIBING_NAMES.includes(name));
    if (at === -1) throw descriptionMissing();
    const input = parseJson(fields[at][1]);
    fields.splice(at, 1);
    return await answerIn(readFormat(input), async () => {
      const job = readJob(input, exchange);
      refuseReferences(fields);
      const content = new TextEncoder().encode(new URLSearchParams(fields).toString());
      return await forward(exchange, { job, body: { content }, contentType: "application/x-www-form-urlencoded" });
    });
  }

  async function answerParts(exchange: Exchange, boundary: string): Promise<Answer> {
    gate.checkSize(exchange, maxUploadBytes);
    if (exchange.body === null) throw descriptionMissing();
    const first = await readFirstPart(limitBytes(exchange.body, maxUploadBytes), boundary, maxDescriptionBytes);
    const names = [...DESCRIBING_NAMES, exchange.header("multipart-part-key")];
    if (!names.includes(first.name)) throw descriptionNotFirst();
    const input = parseJson(first.text);
    return await answerIn(readFormat(input), async () => {
      const job = readJob(input, exchange);
      if (files !== null) {
        const { body, contentType } = insertFiles(first.rest, boundary, (path) => resolveReference(files, path));
        return await forward(exchange, { job, body: { content: body }, contentType });
      }
      const announced = exchange.header("content-length");
      const length = announced === null ? undefined : Number(announced) - first.consumedBytes;
      const contentType = `multipart/form-data; boundary=${quoteBoundary(boundary)}`;
      const content = exchange.takesChunks ? giveBackTaken(first.rest) : first.rest;
      return await forward(exchange, { job, body: { content, length }, contentType });
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

  function refuseReferences(fields: [string, string][]): void {
    if (files === null || !fields.some(([, value]) => value.startsWith("file:"))) return;
    throw new HttpError(400, "file_reference_misplaced", "Files can be put into multipart forms only.");
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

function descriptionMissing(): HttpError {
  return new HttpError(400, "description_missing", 'The form has no field "request" that describes the request.');
}

function descriptionNotFirst(): HttpError {
  return new HttpError(400, "description_not_first", 'The first part of the form must be "request".', {
    details: "Parts are sent on as they arrive, so the one that says where to must come before all others.",
  });
}
