import { HttpError, methodNotAllowed } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { giveBackTaken } from "../../../net/body/chunk_memory.ts";
import type { ProxyResponse } from "../response.ts";
import { fieldError, type HeaderList } from "../describe/description.ts";
import { type Job, parseJob, readFormat } from "../describe/job.ts";
import { type HeldMemory, limitBytes, readDescription, watchPauses } from "../describe/description_bytes.ts";
import type { Asking, OutgoingBody } from "../perform/perform.ts";
import { answerIn, type DescriptionRouteOptions, readDescriptionJson } from "../routes/request.ts";
import type { RequestRecord } from "../request_log.ts";
import { descriptionMissing, readDescribingPart } from "./describing_part.ts";
import { hasReference, takeField } from "./fields.ts";
import { insertFiles, openReference } from "./insert_files.ts";

/** What `/proxy/form` works with. `maxUploadBytes` is for the form that is passed on. */
export interface FormRouteOptions extends DescriptionRouteOptions {
  /** Folder that `file:` references may name files in, or null. */
  files: string | null;
  maxUploadBytes: number;
}

/** Name of the part or field that describes the request; proxyscotch's callers use the second. */
const DESCRIBING_NAMES = ["request", "proxyRequestData"];
/** In this header proxyscotch's callers tell the name of the describing part, which they put behind all others. */
const PART_KEY = "multipart-part-key";

/** A form without the part that described it: what is sent to the upstream. */
interface Forwarded {
  job: Job;
  body: OutgoingBody;
  /** With boundary and all. */
  contentType: string;
}

/** A multipart form as it arrives. */
interface Multipart {
  boundary: string;
  /** The name of the describing part, where the caller has said it. */
  partKey: string | null;
  held: HeldMemory;
}

/**
 * `POST /proxy/form`: the first part describes the request, all others are sent to its upstream byte for byte as
 * they arrive. Only with a folder for files are they looked at on the way, for references to put files in place of.
 */
export class FormRoute {
  readonly #options: FormRouteOptions;

  constructor(options: FormRouteOptions) {
    this.#options = options;
  }

  /** @throws HttpError, other than 405 only to callers of ours: those of proxyscotch get a failure as it tells them */
  async answer(exchange: Exchange, record: RequestRecord): Promise<ProxyResponse> {
    if (exchange.method !== "POST") throw methodNotAllowed("POST, OPTIONS");
    const partKey = exchange.header(PART_KEY);
    const format = partKey === null
      ? { kind: "portway" as const }
      : { kind: "proxyscotch" as const, wantsBinary: false };
    return await answerIn(format, record, () => this.#answerForm({ exchange, record }, partKey));
  }

  async #answerForm(asking: Asking, partKey: string | null): Promise<ProxyResponse> {
    const { gate, memory } = this.#options;
    gate.checkHeaderToken(asking.exchange);
    const held = memory.open();
    try {
      const type = asking.exchange.header("content-type") ?? "";
      if (/^application\/x-www-form-urlencoded\b/i.test(type)) return await this.#answerFields(asking, held);
      const boundary = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
      if (!boundary) {
        throw new HttpError(415, "form_expected", "A multipart/form-data or urlencoded form is expected here.");
      }
      return await this.#answerParts(asking, { boundary: boundary[1] ?? boundary[2], partKey, held });
    } finally {
      held.close();
    }
  }

  async #answerFields(asking: Asking, held: HeldMemory): Promise<ProxyResponse> {
    const { gate, files, clock, timeoutMs, maxDescriptionBytes: maxBytes } = this.#options;
    gate.checkSize(asking.exchange, maxBytes);
    const bytes = await readDescription(asking.exchange, { maxBytes, held, clock, idleMs: timeoutMs });
    const fields = takeField(bytes, DESCRIBING_NAMES);
    if (fields === null) throw descriptionMissing();
    const input = readDescriptionJson(fields.text);
    return await answerIn(readFormat(input), asking.record, async () => {
      const job = this.#readJob(input, asking.exchange);
      if (files !== null && hasReference(fields.rest)) {
        throw new HttpError(400, "file_reference_misplaced", "Files can be put into multipart forms only.");
      }
      const body = { content: fields.rest };
      return await this.#forward(asking, { job, body, contentType: "application/x-www-form-urlencoded" });
    });
  }

  async #answerParts(asking: Asking, { boundary, partKey, held }: Multipart): Promise<ProxyResponse> {
    const { gate, clock, timeoutMs, maxDescriptionBytes, maxUploadBytes } = this.#options;
    const { exchange } = asking;
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
    return await answerIn(readFormat(input), asking.record, async () => {
      const job = this.#readJob(input, exchange);
      return await this.#forward(asking, {
        job,
        ...this.#rewrite(exchange, giveBackTaken(rest), { boundary, removedBytes }),
      });
    });
  }

  /** The other parts with files put in, or as they are. */
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

  async #forward(asking: Asking, { job, body, contentType }: Forwarded): Promise<ProxyResponse> {
    const { description } = job;
    if (description.method === "GET" || description.method === "HEAD") {
      throw fieldError("method", "must be one that carries a form");
    }
    if (description.body !== null && job.format.kind === "portway") {
      throw fieldError("body", "cannot be given: the form is the body");
    }
    const headers: HeaderList = description.headers.filter(([name]) => name.toLowerCase() !== "content-type");
    headers.push(["Content-Type", contentType]);
    return await this.#options.performer.perform({ ...job, description: { ...description, headers } }, body, asking);
  }
}

/** Bare where a token may be (RFC 9110, section 5.6.6), as some servers do not read quotes. */
function quoteBoundary(boundary: string): string {
  return /^[\w'+.-]+$/.test(boundary) ? boundary : `"${boundary}"`;
}
