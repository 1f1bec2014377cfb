import { createBackoff } from "../../common/backoff.ts";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { type ApiClient, ApiRefused, ApiUnreachable, asRecord, parseJsonOrNull } from "../api/mod.ts";
import { EventReader, EventTooLong, type ServerEvent } from "./events.ts";
import { type CaptureRecord, parseCapture } from "./records.ts";

/** The server says something every 15 seconds. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 15_000;

/** Which view is followed, from where on, and who hears of lost connections. */
export interface FollowOptions {
  api: Pick<ApiClient, "stream">;
  viewId: string;
  /** The cursor that captures come after. */
  after: number;
  signal: AbortSignal;
  /** The connection was lost, and is tried again after so many milliseconds. */
  onLost(reason: string, waitMs: number): void;
  /** It is there again. */
  onBack(): void;
}

/** The view was deleted, or is not this user's any more. The message is a line for the user. */
export class ViewGone extends Error {
  override name = "ViewGone";
}

/**
 * The captures of a view behind a cursor, each once and in their order: after a lost connection it goes on behind the last
 * one that was taken. Ends when `signal` aborts.
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

/** Why it is worth trying again. @throws the error where it is not */
function explainLoss(error: unknown): string {
  if (error instanceof ApiUnreachable || error instanceof StreamEnded) return error.message;
  if (error instanceof ApiRefused && error.status === 429) return error.message;
  throw error;
}

/** The stream came to an end that is none. */
class StreamEnded extends Error {
  override name = "StreamEnded";
}

/** The cursor behind which what comes from now on begins. @throws what the API does, NotUnderstood */
export async function findNewest(api: Pick<ApiClient, "get">, viewId: string): Promise<number> {
  const { captures } = asRecord(await api.get(`/api/v1/views/${viewId}/captures?limit=1`));
  return Array.isArray(captures) && captures.length > 0 ? parseCapture(captures[0]).cursor : 0;
}

/**
 * Finds the cursor after which the captures of the last `agoMs` milliseconds begin.
 * @throws as the API does, NotUnderstood
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

/** Events of one connection; null for a sign of life. @throws StreamEnded when it ends or falls silent */
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
    for await (const piece of stream.body) {
      // What is done with an event may take its time: only the wait for the next one counts.
      clearTimeout(timer);
      const events = reader.push(piece);
      if (events.length === 0) yield null;
      yield* events;
      timer = setTimeout(give, SILENCE_MS);
    }
  } catch (error) {
    // It would be as long the next time.
    if (error instanceof EventTooLong) throw error;
    throw new StreamEnded(isSilent ? "the server fell silent." : `${describeError(error)}.`, { cause: error });
  } finally {
    clearTimeout(timer);
    stream.close();
  }
  throw new StreamEnded("the server ended the connection.");
}
