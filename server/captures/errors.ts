import { bodyTooLarge, expectationFailed, HttpError } from "../../common/http_error.ts";

/** Another account's view answers as one that is not there. */
export const noSuchView = (): HttpError =>
  new HttpError(404, "view_not_found", "There is no request view at this address.", {
    details: "It may have been deleted, belong to another account, or the address has a typing error.",
  });

/** 404 `capture_not_found`. */
export const noSuchCapture = (): HttpError =>
  new HttpError(404, "capture_not_found", "This view has no such capture.", {
    details: "It may have been deleted, or have made room for newer ones.",
  });

/** 403 `too_many_views`: the account has as many as the operator allows. */
export const tooManyViews = (limit: number): HttpError =>
  new HttpError(403, "too_many_views", `This account has ${limit} views, as many as it may.`, {
    details: "Delete one that is not needed any more.",
  });

/** 429 `too_many_streams`, to be tried again after 5 seconds. */
export const tooManyTails = (): HttpError =>
  new HttpError(429, "too_many_streams", "This view is followed by as many as may.", {
    headers: { "retry-after": "5" },
  });

/** 429 `too_many_requests`. @param waitMs until the next is taken @param of whose, as `from this address` */
export const tooManyCalls = (waitMs: number, of: string): HttpError =>
  new HttpError(429, "too_many_requests", `Too many requests ${of}.`, {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });

/** More comes in than the disk takes. */
export const storageBusy = (): HttpError =>
  new HttpError(503, "busy", "This server has more to store than it can now.", { headers: { "retry-after": "1" } });

/** 413 `body_too_large`; the rest of the body is not read, and the connection ends. */
export const captureTooLarge = (maxBytes: number): HttpError =>
  bodyTooLarge(maxBytes, "This is the most that a request view captures.");

/** {@link captureTooLarge} for who asked before sending it. */
export const announcedTooLarge = (maxBytes: number, announced: number): HttpError =>
  expectationFailed("The announced body is too large.", {
    suggestion: "Send a smaller body.",
    max_file_size: maxBytes,
    your_file_size: announced,
  });

/** 415 `coding_unknown`: a body is coded in a way that is not undone. @param codings as its Content-Encoding says */
export const codingUnknown = (codings: string): HttpError =>
  new HttpError(415, "coding_unknown", `The body is coded as "${codings}", which is not undone here.`, {
    details: "Without ?decoded its bytes come as they were captured.",
  });

/** 422 `not_decoded`: a body is not what its Content-Encoding says. @param cause says why, in a line */
export const notDecoded = (cause: Error): HttpError =>
  new HttpError(422, "not_decoded", cause.message, {
    details: "Without ?decoded its bytes come as they were captured.",
    cause,
  });

/** 403 `replay_off`: the operator lets the server send no calls again. */
export const replayOff = (): HttpError =>
  new HttpError(403, "replay_off", "This server sends no calls again.", {
    details: "portway --views-replay sends them from your own machine.",
  });

/** 429 `replay_busy`, to be tried again after 2 seconds. */
export const replayBusy = (): HttpError =>
  new HttpError(429, "replay_busy", "As many calls are being sent again as may be at a time.", {
    headers: { "retry-after": "2" },
  });

/** 504 `upstream_timeout`. @param limitMs what it was given to answer in */
export const replayTooSlow = (limitMs: number): HttpError =>
  new HttpError(504, "upstream_timeout", `There was no answer within ${limitMs / 1000} seconds.`);
