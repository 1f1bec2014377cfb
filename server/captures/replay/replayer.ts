import { Buffer } from "node:buffer";
import type { ReplayedJson } from "../../../common/captures/capture_json.ts";
import { callerGone, HttpError } from "../../../common/http_error.ts";
import { describeError, type Logger } from "../../../common/log.ts";
import { createRateLimiter } from "../../../common/rate_limiter.ts";
import { composeReplay } from "../../../common/captures/replay_request.ts";
import { type Ending, SignalEnding } from "../../../net/upstream/mod.ts";
import type { Principal } from "../../access/mod.ts";
import type { OpenedCapture } from "../../store/mod.ts";
import { decodeResponse } from "../service/decoded_body.ts";
import { describeCapture } from "../service/describe.ts";
import { replayBusy, replayOff, replayTooSlow, tooManyCalls } from "../errors.ts";

/** A request that leaves the server. */
export interface SentRequest {
  method: string;
  /** The target. {@link target} replaces its path and query. */
  url: URL;
  /** Path and query, one character per byte. */
  target: { pathname: string; search: string };
  /** A Content-Length here announces the body. */
  headers: readonly (readonly [string, string])[];
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
}

/** The response. The caller reads its body to the end or cancels it. */
export interface SentResponse {
  status: number;
  statusText: string;
  /** One character per byte. */
  headers: [string, string][];
  body: { take(): Promise<Uint8Array[] | null>; cancel(): void };
}

/** Sends a request through the guard for this server's network. @throws HttpError for refusals and failures */
export type SendRequest = (request: SentRequest) => Promise<SentResponse>;

/** The outcome, as the audit log names it. */
type ReplayAction = "capture_replayed" | "capture_not_replayed";

/** Dependencies and limits for replays. */
export interface ReplayerOptions {
  send: SendRequest;
  /** Logs a replay, or a failed one, with its target host in the audit log. */
  note(principal: Principal, action: ReplayAction, subject: string): Promise<void>;
  /** Replays per account; 0 disables them. */
  perMinute: number;
  log: Logger;
  /** The time limit in milliseconds, up to the beginning of the response body; 30 seconds by default. */
  timeoutMs?: number;
}

/** A capture and its target. */
export interface Replay {
  /** The view's name. */
  view: string;
  capture: OpenedCapture;
  service: URL;
  /** The capture's bytes. */
  body: AsyncIterable<Uint8Array>;
  /** Whether a member changed the call before sending it. */
  isEdited: boolean;
}

/** Concurrent replays, per account and in total. */
const MAX_OF_ACCOUNT = 2;
const MAX_OF_ALL = 16;
const TIMEOUT_MS = 30_000;
/** Bytes of a response body that are returned. */
const MAX_RESPONSE_BODY = 64 * 1024;

/**
 * Sends captures from this server to addresses that members choose. Because the server is the sender, each account has
 * a rate limit.
 */
export class Replayer {
  readonly #options: ReplayerOptions;
  readonly #limiter;
  readonly #running = new Map<string, number>();
  #runningAll = 0;

  constructor(options: ReplayerOptions) {
    const { perMinute } = options;
    this.#options = options;
    this.#limiter = createRateLimiter({ burst: perMinute, perMinute });
  }

  /**
   * Reserves a replay for an account. The caller calls the returned function at its end.
   * @throws HttpError 403 `replay_off`, 429 `replay_busy`, `too_many_requests`
   */
  admit(accountId: string): () => void {
    if (this.#options.perMinute === 0) throw replayOff();
    const release = this.#occupy(accountId);
    const waitMs = this.#limiter.take(accountId);
    if (waitMs === 0) return release;
    release();
    throw tooManyCalls(waitMs, "to send calls again");
  }

  /**
   * Sends a capture and reads the beginning of the response. Redirects are not followed.
   * @param signal aborts when the caller disconnects
   * @throws HttpError from {@link SendRequest}, 504 `upstream_timeout`, 499 `caller_gone`
   */
  async send(principal: Principal, replay: Replay, signal: AbortSignal): Promise<ReplayedJson> {
    const { log } = this.#options, { view, capture, service: { host }, isEdited } = replay;
    const fields = {
      account: principal.account.id,
      view: capture.viewId,
      capture: capture.cursor,
      host,
      edited: isEdited || undefined,
    };
    // Long texts are cut at the end, so the host comes first.
    const subject = `${host}, ${isEdited ? "edited, " : ""}from ${view}`;
    let replayed;
    try {
      replayed = await this.#exchange(replay, signal);
    } catch (error) {
      log.info("capture_not_replayed", { ...fields, reason: error instanceof HttpError ? error.code : "failed" });
      await this.#note(principal, "capture_not_replayed", subject);
      throw error;
    }
    log.info("capture_replayed", { ...fields, status: replayed.status });
    await this.#note(principal, "capture_replayed", subject);
    return replayed;
  }

  /**
   * Logs the outcome. The request is already sent, so a failed audit entry is logged and the caller still gets the
   * result.
   */
  async #note(principal: Principal, action: ReplayAction, subject: string): Promise<void> {
    const { log, note } = this.#options;
    try {
      await note(principal, action, subject);
    } catch (error) {
      log.error("not_noted", { action, subject, account: principal.account.id, reason: describeError(error) });
    }
  }

  #occupy(accountId: string): () => void {
    const count = this.#running.get(accountId) ?? 0;
    if (count >= MAX_OF_ACCOUNT || this.#runningAll >= MAX_OF_ALL) throw replayBusy();
    this.#running.set(accountId, count + 1);
    this.#runningAll++;
    return () => {
      this.#runningAll--;
      const left = (this.#running.get(accountId) ?? 1) - 1;
      if (left === 0) this.#running.delete(accountId);
      else this.#running.set(accountId, left);
    };
  }

  async #exchange(replay: Replay, signal: AbortSignal): Promise<ReplayedJson> {
    const { service } = replay, { send, timeoutMs = TIMEOUT_MS } = this.#options;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const ending = new SignalEnding(limit, () => signal.aborted ? callerGone() : replayTooSlow(timeoutMs));
    const request = compose(replay);
    const startedAt = performance.now();
    const response = await send({ ...request, ending });
    const { status, statusText, headers } = response;
    const beginning = await readBeginning(response.body);
    const durationMs = Math.round(performance.now() - startedAt);
    return {
      url: service.origin + escapeBytes(request.target.pathname + request.target.search),
      status,
      statusText,
      headers,
      body: beginning.body.toString("base64"),
      ...(!beginning.isWhole && { bodyTruncated: true }),
      ...await decodeResponse(headers, beginning),
      durationMs,
    };
  }
}

function compose({ capture, service, body }: Replay): Omit<SentRequest, "ending"> {
  const { method, url, headers, framing } = composeReplay({
    service,
    viewId: capture.viewId,
    capture: describeCapture(capture),
    hostHeader: service.host,
  });
  const isEmpty = capture.bodySize === 0;
  return {
    method,
    url: service,
    target: url,
    headers: framing === "none" ? headers : [...headers, ["Content-Length", String(capture.bodySize)]],
    body: framing === "none" ? null : isEmpty ? new Uint8Array(0) : body,
  };
}

/** Reads the beginning of a body, which may never end. */
async function readBeginning(body: SentResponse["body"]): Promise<{ body: Buffer; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0, isWhole = false;
  try {
    while (size <= MAX_RESPONSE_BODY && !isWhole) {
      const taken = await body.take();
      isWhole = taken === null;
      for (const chunk of taken ?? []) {
        chunks.push(chunk);
        size += chunk.length;
      }
    }
  } catch {
    // The body broke off or the time ran out. The result says that it is incomplete.
  } finally {
    body.cancel();
  }
  return { body: Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BODY), isWhole };
}

const escapeBytes = (path: string): string =>
  path.replace(/[^\x21-\x7e]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
