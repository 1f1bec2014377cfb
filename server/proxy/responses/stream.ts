import { EXPOSE_HEADERS, isForeignFieldAllowed } from "../../http/mod.ts";
import { type ProxyResponse, SAFE_HEADERS } from "../response.ts";
import { HttpError } from "../../../common/http_error.ts";
import { BodyCut, type Exchange } from "../../../net/listener/mod.ts";
import { createChunkMemory } from "../../../net/body/chunk_memory.ts";
import type { ResponseBody } from "../../../net/upstream/mod.ts";
import type { Deadline } from "../perform/deadline.ts";
import { hasHeader, type HeaderList } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import { roundedTimings } from "./json.ts";
import { responseTooLarge } from "./decode.ts";
import { CONNECTION_HEADERS } from "../perform/outgoing_headers.ts";

/** Upstream headers that tell how to read the body. The others travel in `portway-headers`. */
const BODY_HEADERS = new Set(["content-type", "content-encoding", "content-language", "content-length"]);

/** Limits for a streamed response. */
export interface ResponseStreamOptions {
  /** Most body bytes; null for no limit. */
  maxBytes: number | null;
  /** Every chunk restarts it. */
  deadline: Deadline;
  /** Receives the byte count, and the error code when the body fails. */
  record: { bytes: number; code?: string };
  /** Called once the body has ended for any reason. */
  onEnd(): void;
}

/** Streams the upstream's encoded body under status 200, with our own headers. */
export async function streamResponse(
  followed: FollowedResponse,
  options: ResponseStreamOptions,
): Promise<ProxyResponse> {
  const { response } = followed;
  // A client would wait for a body whose length is announced but never sent.
  const isOurs = (name: string) => BODY_HEADERS.has(name) && (response.hasBody || name !== "content-length");
  const about = response.headers.filter(([name]) => isOurs(name.toLowerCase()));
  if (!hasHeader(about, "content-type")) about.push(["content-type", "application/octet-stream"]);
  const headers: [string, string][] = [
    // With no-transform no listener compresses, which would delay chunks.
    ["cache-control", "no-store, no-transform"],
    ...SAFE_HEADERS,
    EXPOSE_HEADERS,
    ...about,
    ["portway-status", String(response.status)],
    ["portway-status-text", escapeText(response.statusText)],
    ["portway-final-url", followed.finalUrl],
    ["portway-headers", escapeText(JSON.stringify(response.headers))],
    ["portway-redirects", escapeText(JSON.stringify(followed.redirects))],
    ["portway-timings", JSON.stringify(roundedTimings(followed))],
  ];
  return { status: 200, headers, body: await openStream(response.body, options) };
}

/** Longer waits for the first chunk would delay an event stream's head. */
const FIRST_CHUNK_MS = 100;

/** An empty chunk makes the listener send the head before the first chunk with content. */
const EMPTY = new Uint8Array(0);

/**
 * Opens a body that passes its chunks on. Most bodies begin with their head, so this waits for the first chunk, up to
 * {@link FIRST_CHUNK_MS}. An upstream that breaks off before it gets an error response instead of a head without a
 * body. The caller ends the request on an error; later the stream calls `onEnd`.
 * @throws HttpError from the upstream, or 413 for a first chunk beyond `maxBytes`
 */
async function openStream(
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
    if (left < 0) throw responseTooLarge(limit);
    return chunks;
  };
}

/** Writes characters beyond ASCII as JSON escapes, because field values are Latin-1. */
function escapeText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Passes an upstream's response on: status, body and the fields that are allowed, with fields that let a page read
 * all.
 * @throws HttpError 502 `upstream_not_http` for a status outside HTTP's range
 */
export async function plainResponse(
  followed: FollowedResponse,
  options: ResponseStreamOptions,
  exchange: Pick<Exchange, "method">,
): Promise<ProxyResponse> {
  const { response, finalUrl } = followed;
  if (response.status > 599) {
    response.body.cancel();
    throw new HttpError(502, "upstream_not_http", `The upstream's status ${response.status} cannot be passed on.`);
  }
  const isHead = exchange.method === "HEAD";
  const mayHaveLength = (isHead || response.hasBody) && !NULL_BODY.has(response.status);
  const passed = response.headers.filter(([name]) => mayPassOn(name.toLowerCase(), mayHaveLength));
  const withheld = response.headers.filter(([name]) => isWithheld(name.toLowerCase()));
  const headers: HeaderList = [
    ...SAFE_HEADERS,
    ["cross-origin-resource-policy", "cross-origin"],
    ...passed.filter(([name]) => name.toLowerCase() !== "cache-control"),
    // Compression by a listener would invalidate tag and length, and delay a trickling body.
    ["cache-control", [...readAll(passed, "cache-control"), "no-transform"].join(", ")],
    ["x-request-url", followed.redirects[0]?.url ?? finalUrl],
    ["x-final-url", finalUrl],
    ...followed.redirects.map(({ status, location }, index): [string, string] => [
      `x-cors-redirect-${index + 1}`,
      `${status} ${location}`,
    ]),
  ];
  if (withheld.length > 0) headers.push(["portway-headers", escapeText(JSON.stringify(withheld))]);
  headers.push(exposing(headers));
  const isNull = NULL_BODY.has(response.status) || (isHead && hasHeader(headers, "content-length"));
  const { status } = response;
  if (!isNull) return { status, headers, body: await openStream(response.body, options) };
  response.body.cancel();
  options.onEnd();
  return { status, headers, body: null };
}

/**
 * Whether an upstream's field passes unchanged, by its name in lower case.
 * @param mayHaveLength whether Content-Length passes; without a body, a client would wait for it, except after HEAD
 */
export function mayPassOn(name: string, mayHaveLength: boolean): boolean {
  if (name === "content-length") return mayHaveLength;
  return isForeignFieldAllowed(name) && !CONNECTION_HEADERS.has(name);
}

/** Whether a page gets a field in `portway-headers` only. */
function isWithheld(name: string): boolean {
  return !isForeignFieldAllowed(name) && !CONNECTION_HEADERS.has(name);
}

function readAll(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

/** Lets a page read all fields, and `portway-error` in an error response. */
function exposing(headers: HeaderList): [string, string] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  return [EXPOSE_HEADERS[0], [...names, "portway-error"].join(", ")];
}
