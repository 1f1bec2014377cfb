import { bodyTooLarge, expectationFailed, HttpError } from "../../common/http_error.ts";

/** 404 `view_not_found`, also for another account's view. */
export const noSuchView = (): HttpError =>
  new HttpError(404, "view_not_found", "There is no request view at this address.", {
    details: "The view was deleted or belongs to another account, or the address has a typing error.",
  });

/** 404 `capture_not_found`. */
export const noSuchCapture = (): HttpError =>
  new HttpError(404, "capture_not_found", "This view has no such capture.", {
    details: "The capture was deleted, perhaps to make room for newer ones.",
  });

/** 403 `too_many_views`: the account reached its limit. */
export const tooManyViews = (limit: number): HttpError =>
  new HttpError(403, "too_many_views", `This account has its maximum of ${limit} views.`, {
    details: "Delete unneeded views.",
  });

/** 429 `too_many_streams` with Retry-After of 5 seconds. */
export const tooManyTails = (): HttpError =>
  new HttpError(429, "too_many_streams", "This view has its maximum of streams.", {
    headers: { "retry-after": "5" },
  });

/**
 * 429 `too_many_requests`. @param waitMs milliseconds until the next call is accepted @param of the limited source,
 * such as `from this address`
 */
export const tooManyCalls = (waitMs: number, of: string): HttpError =>
  new HttpError(429, "too_many_requests", `Too many requests ${of}.`, {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });

/** 503 `busy`: calls arrive faster than the disk stores them. */
export const storageBusy = (): HttpError =>
  new HttpError(503, "busy", "This server cannot store calls as fast as they arrive.", {
    headers: { "retry-after": "1" },
  });

/** 413 `body_too_large`. The connection closes without reading the remaining body. */
export const captureTooLarge = (maxBytes: number): HttpError =>
  bodyTooLarge(maxBytes, "A request view captures at most this size.");

/** 417: {@link captureTooLarge} for a client that sent `Expect: 100-continue`. */
export const announcedTooLarge = (maxBytes: number, announced: number): HttpError =>
  expectationFailed("The announced body is too large.", {
    suggestion: "Send a smaller body.",
    max_file_size: maxBytes,
    your_file_size: announced,
  });

/** 415 `coding_unknown`: the content encoding is not supported. @param codings the Content-Encoding */
export const codingUnknown = (codings: string): HttpError =>
  new HttpError(415, "coding_unknown", `The content encoding "${codings}" is not supported.`, {
    details: "Omit ?decoded to get the captured bytes.",
  });

/** 422 `not_decoded`: the body does not match its Content-Encoding. @param cause the reason in a line */
export const notDecoded = (cause: Error): HttpError =>
  new HttpError(422, "not_decoded", cause.message, {
    details: "Omit ?decoded to get the captured bytes.",
    cause,
  });

/** 403 `replay_off`: the operator disabled replays. */
export const replayOff = (): HttpError =>
  new HttpError(403, "replay_off", "This server does not replay calls.", {
    details: "portway --views-replay sends calls from your own machine.",
  });

/** 429 `replay_busy` with Retry-After of 2 seconds. */
export const replayBusy = (): HttpError =>
  new HttpError(429, "replay_busy", "Too many replays are running.", {
    headers: { "retry-after": "2" },
  });

/** 504 `upstream_timeout`. @param limitMs the time limit in milliseconds */
export const replayTooSlow = (limitMs: number): HttpError =>
  new HttpError(504, "upstream_timeout", `The target did not respond within ${limitMs / 1000} seconds.`);
