import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse } from "../response.ts";
import { readDecoded, refuseAnnounced } from "../responses/decode.ts";
import { jsonResponse } from "../responses/json.ts";
import { plainResponse } from "../responses/plain.ts";
import { proxyscotchResponse } from "../responses/proxyscotch.ts";
import { type ResponseStreamOptions, streamResponse } from "../responses/stream.ts";
import { type AlarmClock, Deadline } from "./deadline.ts";
import type { RequestDescription } from "../describe/description.ts";
import type { Job } from "../describe/job.ts";
import { type FollowedResponse, type Sender, sendFollowing } from "./follow.ts";
import { busy } from "../gate.ts";
import { buildOutgoingHeaders } from "./outgoing_headers.ts";
import type { RequestRecord } from "../request_log.ts";
import type { UpstreamRequest } from "./upstream.ts";

/** What limits a request however it was described. */
export interface RequestLimits {
  /** Bytes of an answer that is held in memory. */
  maxBytes: number;
  /** Milliseconds until the answer is complete, or has begun when it is streamed. Those of an upload do not count. */
  timeoutMs: number;
  /** Milliseconds without a byte after which a streamed answer is ended. */
  streamIdleMs: number;
  /** Requests carried out at a time, streamed ones until their end. */
  maxConcurrent: number;
  /** Whether callers may have upstreams' certificates left unchecked. */
  allowSkipTlsVerify: boolean;
}

/** What a request carries to the upstream. */
export interface OutgoingBody {
  content: UpstreamRequest["body"];
  /** Bytes, where a streamed body has announced them. */
  length?: number;
}

/** Whom a request is carried out for, and what the log is told of it. */
export interface Asking {
  exchange: Exchange;
  record: RequestRecord;
}

/** Carries out jobs: sends their requests and answers in the form they want. */
export class Performer {
  readonly #sender: Sender;
  readonly #clock: AlarmClock;
  readonly #limits: RequestLimits;
  #running = 0;

  constructor(sender: Sender, clock: AlarmClock, limits: RequestLimits) {
    this.#sender = sender;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** @throws HttpError for whatever keeps the upstream's answer from being told. */
  async perform(job: Job, body: OutgoingBody, { exchange, record }: Asking): Promise<ProxyResponse> {
    const { description, format } = job;
    const startedAt = performance.now();
    record.upstream = description;
    this.#checkTls(description);
    const timeoutMs = Math.min(description.timeoutMs ?? this.#limits.timeoutMs, this.#limits.timeoutMs);
    const stop = this.begin();
    const deadline = new Deadline(this.#clock, exchange, timeoutMs);
    try {
      const followed = await sendFollowing(this.#sender, {
        ...description,
        headers: outgoingHeaders(description, body, exchange),
        via: readVia(description),
        body: keepTime(body.content, deadline, timeoutMs),
        ending: deadline,
      });
      record.status = followed.answer.status;
      record.redirects = followed.redirects.length;
      if (!description.stream || format.kind === "proxyscotch") {
        return await this.#readWhole(job, followed, { startedAt, record });
      }
      const onEnd = () => {
        deadline.stop();
        stop();
        record.write();
      };
      const stream = { maxBytes: description.maxBytes, deadline, record, onEnd };
      if (stream.maxBytes !== null) refuseAnnounced(followed.answer, stream.maxBytes);
      const answer = await this.#stream(format.kind === "plain", followed, stream, exchange);
      record.isStreamed = true;
      return answer;
    } finally {
      if (!record.isStreamed) {
        deadline.stop();
        stop();
      }
    }
  }

  /** @throws HttpError 403 `tls_skip_forbidden` */
  #checkTls({ skipTlsVerify }: RequestDescription): void {
    if (!skipTlsVerify || this.#limits.allowSkipTlsVerify) return;
    throw new HttpError(403, "tls_skip_forbidden", "This proxy checks every certificate.", {
      details: "Whoever runs this server can leave it to callers with --proxy-skip-tls-verify.",
    });
  }

  /** Counts one more; what it returns counts it no longer, however often it is called. @throws HttpError 503 `busy` */
  begin(): () => void {
    if (this.#running >= this.#limits.maxConcurrent) throw busy();
    this.#running++;
    let isOver = false;
    return () => {
      if (!isOver) this.#running--;
      isOver = true;
    };
  }

  #stream(
    isPlain: boolean,
    followed: FollowedResponse,
    stream: ResponseStreamOptions,
    exchange: Exchange,
  ): Promise<ProxyResponse> {
    stream.deadline.limitIdle(this.#limits.streamIdleMs);
    return isPlain ? plainResponse(followed, stream, exchange) : streamResponse(followed, stream);
  }

  async #readWhole(
    { description, format }: Job,
    followed: FollowedResponse,
    { startedAt, record }: { startedAt: number; record: RequestRecord },
  ): Promise<ProxyResponse> {
    const maxBytes = Math.min(description.maxBytes ?? this.#limits.maxBytes, this.#limits.maxBytes);
    const read = await readDecoded(followed.answer, maxBytes);
    record.bytes = read.wireBytes;
    if (format.kind === "proxyscotch") return proxyscotchResponse(followed, read.bytes, format.wantsBinary);
    return jsonResponse(followed, read, performance.now() - startedAt, description.responseType);
  }
}

function outgoingHeaders(description: RequestDescription, body: OutgoingBody, exchange: Exchange) {
  const acceptEncoding = description.stream ? exchange.header("accept-encoding") ?? "identity" : undefined;
  const headers = buildOutgoingHeaders(description.headers, acceptEncoding);
  if (body.length !== undefined) headers.push(["Content-Length", String(body.length)]);
  return headers;
}

function readVia({ headers }: RequestDescription): string {
  const via = headers.filter(([name]) => name.length === 3 && name.toLowerCase() === "via").map(([, value]) => value);
  return via.length === 0 ? "" : `${via.join(", ")}, `;
}

/**
 * While the bytes of an upload move, the upstream's time does not run: an upload may take as long as it does. It starts
 * with each piece that the upstream is ready for, so that one who stalls, the caller or the upstream, ends in time.
 */
function keepTime(content: OutgoingBody["content"], deadline: Deadline, timeoutMs: number): OutgoingBody["content"] {
  if (content === null || content instanceof Uint8Array) return content;
  deadline.limitIdle(timeoutMs);
  return restarting(content, deadline);
}

async function* restarting(pieces: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    deadline.restart();
    yield piece;
  }
  deadline.restart();
}
