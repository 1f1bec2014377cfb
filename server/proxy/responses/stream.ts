import { EXPOSE_HEADERS } from "../../http/mod.ts";
import { type ProxyResponse, SAFE_HEADERS } from "../response.ts";
import { HttpError } from "../../../common/http_error.ts";
import { BodyCut } from "../../../net/listener/mod.ts";
import { createChunkMemory } from "../../../net/body/chunk_memory.ts";
import type { ResponseBody } from "../../../net/upstream/mod.ts";
import type { Deadline } from "../perform/deadline.ts";
import { hasHeader } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import { roundedTimings } from "./json.ts";
import { answerTooLarge } from "./decode.ts";

/** Headers of the upstream that say how to read the body; the rest travels in `portway-headers`. */
const BODY_HEADERS = new Set(["content-type", "content-encoding", "content-language", "content-length"]);

/** How long and how large an answer may be that is passed on as it comes. */
export interface ResponseStreamOptions {
  /** Bytes of the body; null for no limit. */
  maxBytes: number | null;
  /** Moved on by every chunk. */
  deadline: Deadline;
  /** Counts the bytes. */
  record: { bytes: number };
  /** Called when the body has ended, for whatever reason. */
  onEnd(): void;
}

/**
 * The upstream's body as it arrives, not decoded, under status 200 and headers of ours.
 */
export function streamResponse(followed: FollowedResponse, options: ResponseStreamOptions): ProxyResponse {
  const { answer } = followed;
  // The length of a body that is not sent would be waited for.
  const isOurs = (name: string) => BODY_HEADERS.has(name) && (answer.hasBody || name !== "content-length");
  const about = answer.headers.filter(([name]) => isOurs(name.toLowerCase()));
  if (!hasHeader(about, "content-type")) about.push(["content-type", "application/octet-stream"]);
  const headers: [string, string][] = [
    // no-transform keeps a listener from compressing, which would hold back what should arrive at once.
    ["cache-control", "no-store, no-transform"],
    ...SAFE_HEADERS,
    EXPOSE_HEADERS,
    ...about,
    ["portway-status", String(answer.status)],
    ["portway-status-text", escapeText(answer.statusText)],
    ["portway-final-url", followed.finalUrl],
    ["portway-headers", escapeText(JSON.stringify(answer.headers))],
    ["portway-redirects", escapeText(JSON.stringify(followed.redirects))],
    ["portway-timings", JSON.stringify(roundedTimings(followed))],
  ];
  return { status: 200, headers, body: toStream(answer.body, options) };
}

/** A body as it arrives. */
export function toStream(body: ResponseBody, options: ResponseStreamOptions): ReadableStream<Uint8Array> {
  const { maxBytes, deadline, record, onEnd } = options;
  const limit = maxBytes ?? Infinity;
  const memory = createChunkMemory();
  let left = limit;
  let given: Uint8Array[] = [];
  function pass(chunks: Uint8Array[] | null, controller: ReadableStreamDefaultController<Uint8Array>): void {
    given = chunks ?? [];
    deadline.restart();
    if (chunks === null) {
      onEnd();
      controller.close();
      return;
    }
    for (const chunk of chunks) {
      left -= chunk.byteLength;
      record.bytes += chunk.byteLength;
      if (left < 0) throw answerTooLarge(limit);
      controller.enqueue(chunk);
    }
  }
  function cancel(): void {
    onEnd();
    body.cancel();
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        memory.giveBack(given);
        pass(await body.take(), controller);
      } catch (error) {
        cancel();
        controller.error(error instanceof HttpError ? new BodyCut(error.message, { cause: error }) : error);
      }
    },
    cancel,
  }, { highWaterMark: 0 });
}

/** Header values are Latin-1: what is beyond ASCII is written as JSON escapes it. */
function escapeText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
