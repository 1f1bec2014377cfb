import type { Exchange } from "../../common/listener/mod.ts";
import type { Guard } from "../guard/mod.ts";
import type { AlarmClock } from "./alarm_clock.ts";
import type { Answer } from "./answer.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { type FollowedAnswer, sendFollowing } from "./follow.ts";
import { busy } from "./gate.ts";
import type { Job } from "./job.ts";
import { jsonAnswer } from "./json_answer.ts";
import { buildOutgoingHeaders } from "./outgoing_headers.ts";
import { proxyscotchAnswer } from "./proxyscotch.ts";
import { readBody, refuseAnnounced } from "./read_body.ts";
import { streamAnswer, type StreamOptions } from "./stream_answer.ts";
import type { Upstream, UpstreamRequest } from "./upstream/mod.ts";

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
}

export interface PerformOptions {
  upstream: Upstream;
  guard: Guard;
  clock: AlarmClock;
  viaToken: string;
  limits: RequestLimits;
}

/** Carries out a job: sends its request and answers in the form it wants. */
export type Perform = (job: Job, body: OutgoingBody, exchange: Exchange) => Promise<Answer>;

export interface OutgoingBody {
  content: UpstreamRequest["body"];
  /** Bytes, where a streamed body has announced them. */
  length?: number;
}

/** @throws (when called) HttpError for whatever keeps the target's answer from being told. */
export function createPerform(options: PerformOptions): Perform {
  const { upstream, guard, clock, viaToken, limits } = options;
  let running = 0;

  return async (job, body, exchange) => {
    const { description } = job;
    const startedAt = performance.now();
    const timeoutMs = Math.min(description.timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
    if (running >= limits.maxConcurrent) throw busy();
    running++;
    const deadline = startDeadline({ clock, caller: exchange, totalMs: timeoutMs, onStop: () => running-- });
    let streams = false;
    try {
      const acceptEncoding = description.stream ? exchange.header("accept-encoding") ?? "identity" : undefined;
      const headers = buildOutgoingHeaders(description.headers, { viaToken, acceptEncoding });
      if (body.length !== undefined) headers.push(["Content-Length", String(body.length)]);
      const hop = { ...description, headers, body: keepTime(body.content, deadline, timeoutMs), ending: deadline };
      const followed = await sendFollowing(upstream, guard, hop);
      if (description.stream && job.format.kind === "portway") {
        const answer = startStream(followed, {
          maxBytes: description.maxBytes,
          deadline,
        });
        streams = true;
        return answer;
      }
      return await readWhole(job, followed, startedAt);
    } finally {
      if (!streams) deadline.stop();
    }
  };

  function startStream(followed: FollowedAnswer, stream: StreamOptions): Answer {
    if (stream.maxBytes !== null) refuseAnnounced(followed.answer, stream.maxBytes);
    stream.deadline.limitIdle(limits.streamIdleMs);
    return streamAnswer(followed, stream);
  }

  async function readWhole(job: Job, followed: FollowedAnswer, startedAt: number): Promise<Answer> {
    const { description, format } = job;
    const maxBytes = Math.min(description.maxBytes ?? limits.maxBytes, limits.maxBytes);
    const read = await readBody(followed.answer, maxBytes);
    if (format.kind === "proxyscotch") return proxyscotchAnswer(followed, read.bytes, format.wantsBinary);
    return jsonAnswer(followed, read, performance.now() - startedAt, description.responseType);
  }
}

/**
 * While the bytes of an upload move, the target's time does not run: an upload may take as long as it does. It starts
 * with each piece that the target is ready for, so that one who stalls, the caller or the target, ends in time.
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
