import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse } from "../response.ts";
import { readDecoded, refuseAnnounced } from "../responses/decode.ts";
import { jsonResponse, proxyscotchResponse } from "../responses/json.ts";
import { plainResponse, type ResponseStreamOptions, streamResponse } from "../responses/stream.ts";
import { type AlarmClock, Deadline } from "./deadline.ts";
import type { RequestDescription } from "../describe/description.ts";
import type { Job } from "../describe/job.ts";
import { type FollowedResponse, type Sender, sendFollowing } from "./follow.ts";
import { busy } from "../gate.ts";
import { buildOutgoingHeaders } from "./outgoing_headers.ts";
import type { RequestRecord } from "../request_log.ts";
import type { UpstreamRequest } from "./upstream.ts";

/** Limits for every request. */
export interface RequestLimits {
  /** Most bytes in a buffered response. */
  maxBytes: number;
  /** Milliseconds until the response is complete, or has begun when it is streamed. Upload time does not count. */
  timeoutMs: number;
  /** Milliseconds without a byte that end a streamed response. */
  streamIdleMs: number;
  /** Concurrent requests. A streamed request counts until its end. */
  maxConcurrent: number;
  /** Whether callers may skip the certificate check. */
  allowSkipTlsVerify: boolean;
}

/** The body for the upstream. */
export interface OutgoingBody {
  content: UpstreamRequest["body"];
  /** The announced length for a streamed body. */
  length?: number;
}

/** The client's exchange and its log record. */
export interface Caller {
  exchange: Exchange;
  record: RequestRecord;
}

/** Performs jobs: sends their requests and builds the response. */
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

  /** Performs a job. @throws HttpError when the upstream's response cannot be delivered */
  async perform(job: Job, body: OutgoingBody, { exchange, record }: Caller): Promise<ProxyResponse> {
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
      record.status = followed.response.status;
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
      if (stream.maxBytes !== null) refuseAnnounced(followed.response, stream.maxBytes);
      const response = await this.#stream(format.kind === "plain", followed, stream, exchange);
      record.isStreamed = true;
      return response;
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
      details: "The operator can allow it with --proxy-skip-tls-verify.",
    });
  }

  /** Counts a request until the returned function is called, at first call only. @throws HttpError 503 `busy` */
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
    const read = await readDecoded(followed.response, maxBytes);
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
 * Stops the upstream's time limit while an upload progresses. Each chunk that the upstream accepts restarts it, so
 * that a stalled side still ends in time.
 */
function keepTime(content: OutgoingBody["content"], deadline: Deadline, timeoutMs: number): OutgoingBody["content"] {
  if (content === null || content instanceof Uint8Array) return content;
  deadline.limitIdle(timeoutMs);
  return restarting(content, deadline);
}

async function* restarting(chunks: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    deadline.restart();
    yield chunk;
  }
  deadline.restart();
}
