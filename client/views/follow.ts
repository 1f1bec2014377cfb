import { createBackoff } from "../../common/backoff.ts";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { type ApiClient, ApiRefused, ApiUnreachable, asRecord, parseJsonOrNull } from "../api/mod.ts";
import { EventReader, EventTooLong, type ServerEvent } from "./events.ts";
import { type CaptureRecord, parseCapture } from "./records.ts";

/** The server sends data at least every 15 seconds. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 15_000;

/** Options for following a view. */
export interface FollowOptions {
  api: Pick<ApiClient, "stream">;
  viewId: string;
  /** The cursor after which captures begin. */
  after: number;
  signal: AbortSignal;
  /** Called after a lost connection, with the delay before the next attempt. */
  onLost(reason: string, waitMs: number): void;
  /** Called once the connection is open again. */
  onBack(): void;
}

/** The view was deleted, or this user lost access to it. The message is a line for the user. */
export class ViewGone extends Error {
  override name = "ViewGone";
}

/**
 * Yields the captures after a cursor, each once and in order. After a lost connection it continues after the last
 * yielded capture. Ends when `signal` aborts.
 * @throws ViewGone, ApiRefused, LoginNeeded, NotUnderstood
 */
export async function* followView(options: FollowOptions): AsyncGenerator<CaptureRecord, void> {
  const { signal, onLost, onBack } = options;
  const backoff = createBackoff({ initialMs: FIRST_WAIT_MS, maxMs: LONGEST_WAIT_MS });
  let cursor = options.after, isLost = false;
  while (!signal.aborted) {
    try {
      for await (const event of readEvents(options, cursor)) {
        if (isLost) onBack();
        isLost = false;
        backoff.reset();
        if (event === null) continue;
        if (event.type === "removed") throw new ViewGone("the view was deleted, or you may not read it any more");
        const capture = parseCapture(parseJsonOrNull(event.data));
        if (capture.cursor <= cursor) continue;
        yield capture;
        cursor = capture.cursor;
      }
    } catch (error) {
      if (signal.aborted) return;
      const waitMs = backoff.next();
      onLost(explainLoss(error), waitMs);
      isLost = true;
      await delay(waitMs, signal);
    }
  }
}

/** Returns the reason for a new attempt. @throws the error when an attempt cannot help */
function explainLoss(error: unknown): string {
  if (error instanceof ApiUnreachable || error instanceof StreamEnded) return error.message;
  if (error instanceof ApiRefused && error.status === 429) return error.message;
  throw error;
}

/** The stream ended although the view exists. */
class StreamEnded extends Error {
  override name = "StreamEnded";
}

/** Returns the newest capture's cursor. @throws errors from the API, NotUnderstood */
export async function findNewest(api: Pick<ApiClient, "get">, viewId: string): Promise<number> {
  const { captures } = asRecord(await api.get(`/api/v1/views/${viewId}/captures?limit=1`));
  return Array.isArray(captures) && captures.length > 0 ? parseCapture(captures[0]).cursor : 0;
}

/**
 * Finds the cursor before the first capture within the last `agoMs` milliseconds.
 * @throws errors from the API, NotUnderstood
 */
export async function findSince(api: Pick<ApiClient, "get">, viewId: string, agoMs: number): Promise<number> {
  const from = new Date(Date.now() - agoMs).toISOString();
  let oldest: number | null = null, before = "";
  while (true) {
    const page = asRecord(await api.get(`/api/v1/views/${viewId}/captures?from=${from}&limit=500${before}`));
    const captures = Array.isArray(page.captures) ? page.captures : [];
    if (captures.length > 0) oldest = parseCapture(captures[captures.length - 1]).cursor;
    if (typeof page.next !== "number") break;
    before = `&before=${page.next}`;
  }
  return oldest === null ? await findNewest(api, viewId) : oldest - 1;
}

/** Yields the events on one connection, and null for a keep-alive. @throws StreamEnded when it ends or stalls */
async function* readEvents(
  { api, viewId, signal }: FollowOptions,
  cursor: number,
): AsyncGenerator<ServerEvent | null, void> {
  const stream = await api.stream(`/api/v1/views/${viewId}/stream?after=${cursor}`, { signal });
  const reader = new EventReader();
  let isSilent = false;
  const give = () => {
    isSilent = true;
    stream.close();
  };
  let timer = setTimeout(give, SILENCE_MS);
  try {
    for await (const chunk of stream.body) {
      // Only the wait for the next event counts, not the work with this one.
      clearTimeout(timer);
      const events = reader.push(chunk);
      if (events.length === 0) yield null;
      yield* events;
      timer = setTimeout(give, SILENCE_MS);
    }
  } catch (error) {
    // A new attempt would get the same event.
    if (error instanceof EventTooLong) throw error;
    throw new StreamEnded(isSilent ? "the server fell silent." : `${describeError(error)}.`, { cause: error });
  } finally {
    clearTimeout(timer);
    stream.close();
  }
  throw new StreamEnded("the server ended the connection.");
}
