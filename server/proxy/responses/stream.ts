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
  /** Receives the number of bytes, and the code of the error that ended the body. */
  record: { bytes: number; code?: string };
  /** Called when the body has ended, for whatever reason. */
  onEnd(): void;
}

/**
 * The upstream's body as it arrives, not decoded, under status 200 and headers of ours.
 */
export async function streamResponse(
  followed: FollowedResponse,
  options: ResponseStreamOptions,
): Promise<ProxyResponse> {
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
  return { status: 200, headers, body: await openStream(answer.body, options) };
}

/** Longer waits for the first chunk would delay the head of an event stream. */
const FIRST_CHUNK_MS = 100;

/** An empty chunk makes the listener send the head before the first chunk with content. */
const EMPTY = new Uint8Array(0);

/**
 * Opens a body that passes on its chunks as they arrive. Most bodies begin with their head, so this waits for the first
 * chunk, up to {@link FIRST_CHUNK_MS}: an upstream that breaks off before it gets an error response instead of a head
 * that nothing follows. The caller ends the request on an error; later the stream calls `onEnd`.
 * @throws HttpError of the upstream, or 413 for a first chunk beyond `maxBytes`
 */
export async function openStream(
  body: ResponseBody,
  options: ResponseStreamOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { deadline, record, onEnd } = options;
  const take = createCountingReader(body, options);
  let first: Promise<Uint8Array[] | null> | null = take();
  let isHeadDue: boolean;
  try {
    isHeadDue = !await deadline.settlesWithin(first, FIRST_CHUNK_MS);
  } catch (error) {
    body.cancel();
    throw error;
  }
  const memory = createChunkMemory();
  let given: Uint8Array[] = [];
  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (isHeadDue) {
      isHeadDue = false;
      return controller.enqueue(EMPTY);
    }
    memory.giveBack(given);
    const chunks = await (first ?? take());
    first = null;
    given = chunks ?? [];
    for (const chunk of given) controller.enqueue(chunk);
    if (chunks !== null) return;
    onEnd();
    controller.close();
  }
  function cancel(): void {
    onEnd();
    body.cancel();
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        await pull(controller);
      } catch (error) {
        if (error instanceof HttpError) record.code = error.code;
        cancel();
        controller.error(error instanceof HttpError ? new BodyCut(error.message, { cause: error }) : error);
      }
    },
    cancel,
  }, { highWaterMark: 0 });
}

/** Returns a function that reads the next chunks, counts them, and extends the deadline. */
function createCountingReader(
  body: ResponseBody,
  { maxBytes, deadline, record }: ResponseStreamOptions,
): () => Promise<Uint8Array[] | null> {
  const limit = maxBytes ?? Infinity;
  let left = limit;
  return async () => {
    const chunks = await body.take();
    deadline.restart();
    for (const chunk of chunks ?? []) {
      left -= chunk.byteLength;
      record.bytes += chunk.byteLength;
    }
    if (left < 0) throw answerTooLarge(limit);
    return chunks;
  };
}

/** Writes characters beyond ASCII as JSON escapes, because field values are Latin-1. */
export function escapeText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
