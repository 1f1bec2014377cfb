import { HttpError, methodNotAllowed } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { giveBackTaken } from "../../../net/body/chunk_memory.ts";
import type { ProxyResponse } from "../response.ts";
import { fieldError, type HeaderList } from "../describe/description.ts";
import { type Job, parseJob, readFormat } from "../describe/job.ts";
import { type HeldMemory, limitBytes, readDescription, watchPauses } from "../describe/description_bytes.ts";
import type { Caller, OutgoingBody } from "../perform/perform.ts";
import { type DescriptionRouteOptions, readDescriptionJson, reportIn } from "../routes/request.ts";
import type { RequestRecord } from "../request_log.ts";
import { descriptionMissing, readDescribingPart } from "./describing_part.ts";
import { insertFiles, openReference } from "./insert_files.ts";
import { Buffer } from "node:buffer";

/** Options for `/proxy/form`. `maxUploadBytes` limits the form that is passed on. */
export interface FormRouteOptions extends DescriptionRouteOptions {
  /** The folder for `file:` references, or null. */
  files: string | null;
  maxUploadBytes: number;
}

/** Names for the describing part or field. Proxyscotch's clients use the second. */
const DESCRIBING_NAMES = ["request", "proxyRequestData"];
/** The header in which proxyscotch's clients name the describing part, which they send last. */
const PART_KEY = "multipart-part-key";

/** The form without its describing part, as the upstream receives it. */
interface Forwarded {
  job: Job;
  body: OutgoingBody;
  /** Includes the boundary. */
  contentType: string;
}

/** A multipart form on arrival. */
interface Multipart {
  boundary: string;
  /** The describing part's name, when the caller gave it. */
  partKey: string | null;
  held: HeldMemory;
}

/**
 * `POST /proxy/form`: the first part describes the request, and the upstream receives all others byte for byte. The
 * proxy inspects them only when it has a folder, to replace file references.
 */
export class FormRoute {
  readonly #options: FormRouteOptions;

  constructor(options: FormRouteOptions) {
    this.#options = options;
  }

  /** @throws HttpError; proxyscotch's clients get failures in their own format instead, except 405 */
  async handle(exchange: Exchange, record: RequestRecord): Promise<ProxyResponse> {
    if (exchange.method !== "POST") throw methodNotAllowed("POST, OPTIONS");
    const partKey = exchange.header(PART_KEY);
    const format = partKey === null
      ? { kind: "portway" as const }
      : { kind: "proxyscotch" as const, wantsBinary: false };
    return await reportIn(format, record, () => this.#performForm({ exchange, record }, partKey));
  }

  async #performForm(caller: Caller, partKey: string | null): Promise<ProxyResponse> {
    const { gate, memory } = this.#options;
    gate.checkHeaderToken(caller.exchange);
    const held = memory.open();
    try {
      const type = caller.exchange.header("content-type") ?? "";
      if (/^application\/x-www-form-urlencoded\b/i.test(type)) return await this.#performFields(caller, held);
      const boundary = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
      if (!boundary) {
        throw new HttpError(415, "form_expected", "A multipart/form-data or urlencoded form is expected here.");
      }
      return await this.#performParts(caller, { boundary: boundary[1] ?? boundary[2], partKey, held });
    } finally {
      held.close();
    }
  }

  async #performFields(caller: Caller, held: HeldMemory): Promise<ProxyResponse> {
    const { gate, files, clock, timeoutMs, maxDescriptionBytes: maxBytes } = this.#options;
    gate.checkSize(caller.exchange, maxBytes);
    const bytes = await readDescription(caller.exchange, { maxBytes, held, clock, idleMs: timeoutMs });
    const fields = takeField(bytes, DESCRIBING_NAMES);
    if (fields === null) throw descriptionMissing();
    const input = readDescriptionJson(fields.text);
    return await reportIn(readFormat(input), caller.record, async () => {
      const job = this.#readJob(input, caller.exchange);
      if (files !== null && hasReference(fields.rest)) {
        throw new HttpError(400, "file_reference_misplaced", "Files can be put into multipart forms only.");
      }
      const body = { content: fields.rest };
      return await this.#forward(caller, { job, body, contentType: "application/x-www-form-urlencoded" });
    });
  }

  async #performParts(caller: Caller, { boundary, partKey, held }: Multipart): Promise<ProxyResponse> {
    const { gate, clock, timeoutMs, maxDescriptionBytes, maxUploadBytes } = this.#options;
    const { exchange } = caller;
    gate.checkSize(exchange, maxUploadBytes);
    if (exchange.body === null) throw descriptionMissing();
    const { chunks, stop } = watchPauses(exchange.body, { clock, idleMs: timeoutMs });
    const { text, rest, removedBytes } = await readDescribingPart(limitBytes(chunks, maxUploadBytes), {
      boundary,
      names: partKey === null ? DESCRIBING_NAMES : [partKey],
      anywhere: partKey !== null,
      maxBytes: maxDescriptionBytes,
      hold: (bytes) => held.add(bytes),
    }).finally(stop);
    const input = readDescriptionJson(text);
    return await reportIn(readFormat(input), caller.record, async () => {
      const job = this.#readJob(input, exchange);
      return await this.#forward(caller, {
        job,
        ...this.#rewrite(exchange, giveBackTaken(rest), { boundary, removedBytes }),
      });
    });
  }

  /** Returns the other parts with files inserted, or unchanged. */
  #rewrite(
    exchange: Exchange,
    parts: AsyncGenerator<Uint8Array>,
    { boundary, removedBytes }: { boundary: string; removedBytes: number },
  ): Omit<Forwarded, "job"> {
    const { files } = this.#options;
    if (files !== null) {
      const { body, contentType } = insertFiles(parts, boundary, (path) => openReference(files, path));
      return { body: { content: body }, contentType };
    }
    const announced = exchange.header("content-length");
    const length = announced === null ? undefined : Number(announced) - removedBytes;
    return {
      body: { content: parts, length },
      contentType: `multipart/form-data; boundary=${quoteBoundary(boundary)}`,
    };
  }

  #readJob(input: unknown, exchange: Exchange): Job {
    const job = parseJob(input, "POST");
    this.#options.gate.checkToken(exchange, job.accessToken);
    return job;
  }

  async #forward(caller: Caller, { job, body, contentType }: Forwarded): Promise<ProxyResponse> {
    const { description } = job;
    if (description.method === "GET" || description.method === "HEAD") {
      throw fieldError("method", "must be one that carries a form");
    }
    if (description.body !== null && job.format.kind === "portway") {
      throw fieldError("body", "cannot be given: the form is the body");
    }
    const headers: HeaderList = description.headers.filter(([name]) => name.toLowerCase() !== "content-type");
    headers.push(["Content-Type", contentType]);
    return await this.#options.performer.perform({ ...job, description: { ...description, headers } }, body, caller);
  }
}

/**
 * Leaves a boundary unquoted where it is a token (RFC 9110, section 5.6.6), because some servers cannot read quotes.
 */
function quoteBoundary(boundary: string): string {
  return /^[\w'+.-]+$/.test(boundary) ? boundary : `"${boundary}"`;
}

/** An urlencoded form without the describing field. */
interface DescribedFields {
  text: string;
  /** The other fields, byte for byte. */
  rest: Buffer;
}

/** Removes the first field with a matching name from an urlencoded form. Returns null when there is none. */
function takeField(form: Buffer, names: readonly string[]): DescribedFields | null {
  const fields = splitFields(form);
  const at = fields.findIndex((field) => names.includes(decode(field.split("=", 1)[0])));
  if (at === -1) return null;
  const [field] = fields.splice(at, 1);
  return { text: readValue(field), rest: Buffer.from(fields.join("&"), "latin1") };
}

/** Whether a field's value starts like a file reference. */
function hasReference(form: Buffer): boolean {
  return splitFields(form).some((field) => readValue(field).startsWith("file:"));
}

/** Splits a form into `name=value` texts in Latin-1, which loses no byte. */
function splitFields(form: Buffer): string[] {
  return form.toString("latin1").split("&");
}

function readValue(field: string): string {
  const equals = field.indexOf("=");
  return equals === -1 ? "" : decode(field.slice(equals + 1));
}

/** Decodes a name or a value: https://url.spec.whatwg.org/#urlencoded-parsing. */
function decode(component: string): string {
  return new URLSearchParams(`=${Buffer.from(component, "latin1").toString("utf8")}`).get("") ?? "";
}
