import { ConnectError, type ConnectFailure } from "../../../common/connection/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { ResponseSyntaxError } from "../../../common/http1/mod.ts";
import { BodyLengthError } from "./request_writer.ts";
import { ConnectionBroken } from "./target_connection.ts";

/** Status, code and message: what a kind of failure is to callers. */
type FailureKind = readonly [status: number, code: string, message: string];

const TIMEOUT: FailureKind = [504, "upstream_timeout", "The target did not answer in time."];
const UNREACHABLE: FailureKind = [502, "upstream_unreachable", "The target cannot be reached from here."];
const RESET: FailureKind = [
  502,
  "upstream_reset",
  "The target broke the connection off before its answer was complete.",
];
const FAILED: FailureKind = [502, "upstream_failed", "The request to the target failed."];

const CONNECT_KINDS: Readonly<Record<ConnectFailure, FailureKind>> = {
  refused: [502, "upstream_refused", "The target refuses connections."],
  not_found: UNREACHABLE,
  timeout: TIMEOUT,
  tls: [502, "upstream_tls", "No secure connection to the target could be made."],
  aborted: FAILED,
  proxy: FAILED,
  failed: UNREACHABLE,
};

/** The answer for whatever ended a request to a target early. Errors that are answers already stay as they are. */
export function toUpstreamError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const [status, code, message] = chooseKind(error);
  return new HttpError(status, code, message, { cause: error });
}

function chooseKind(error: unknown): FailureKind {
  if (error instanceof ConnectError) return CONNECT_KINDS[error.failure];
  if (error instanceof ResponseSyntaxError) {
    return [502, "upstream_not_http", "The target did not answer with HTTP."];
  }
  if (error instanceof BodyLengthError) {
    return [400, "body_length_wrong", "The body is not as long as its Content-Length says."];
  }
  if (error instanceof ConnectionBroken) return RESET;
  return FAILED;
}

/** 504 for a limit of time that a caller or this server has set. */
export function upstreamTimeout(limitMs: number): HttpError {
  return new HttpError(504, "upstream_timeout", `The target did not answer within ${limitMs} ms.`);
}
