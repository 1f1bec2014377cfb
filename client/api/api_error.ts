import { ConnectError } from "../../net/connection/mod.ts";
import { ResponseSyntaxError } from "../../net/http1/mod.ts";
import { describeError } from "../../common/log.ts";
import { ResponseMissing } from "./http_call.ts";

/** The server is unreachable or unavailable. A retry may succeed. */
export class ApiUnreachable extends Error {
  override name = "ApiUnreachable";
}

/** The server rejected the request. A retry would fail again. */
export class ApiRefused extends Error {
  override name = "ApiRefused";
  /** The HTTP status; 0 if the peer is not a Portway server. */
  readonly status: number;
  /** A stable error code for callers, such as `plan_required`. */
  readonly code: string;
  /** Advice for the user, if the server sent any. */
  readonly details: string | null;

  constructor(status: number, code: string, message: string, details: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** No login exists, or the server no longer accepts it. */
export class LoginNeeded extends Error {
  override name = "LoginNeeded";
}

/** Creates the error for a peer that is not a Portway server, or an incompatible one. */
export const notPortway = (server: URL): ApiRefused =>
  new ApiRefused(0, "not_portway", `${server.origin} is not a Portway server`);

/** Converts an error from a failed call into an API error with one line for the user. */
export function explainCallFailure(server: URL, error: unknown): Error {
  const where = server.origin;
  if (error instanceof ConnectError) {
    return new ApiUnreachable(`cannot reach the server ${where}: ${error.message}`, { cause: error });
  }
  if (error instanceof ResponseSyntaxError) return notPortway(server);
  if (error instanceof ResponseMissing) {
    return new ApiUnreachable(`the server ${where} closed the connection without a response`, { cause: error });
  }
  return new ApiUnreachable(`the connection to the server ${where} broke: ${describeError(error)}`, { cause: error });
}

/** Parses the error in an API response. */
export function parseRefusal(server: URL, status: number, text: string): ApiRefused | ApiUnreachable {
  const { code, message, details } = asRecord(asRecord(parseJsonOrNull(text)).error);
  if (typeof code !== "string" || typeof message !== "string") {
    // Proxies send these statuses while the server behind them restarts.
    if (status >= 502 && status <= 504) return new ApiUnreachable(`the server ${server.origin} is not available`);
    return notPortway(server);
  }
  if (status >= 500) return new ApiUnreachable(message);
  const advice = typeof details === "string" ? details : null;
  // Other errors can carry details that are addressed to visitors.
  return new ApiRefused(
    status,
    code,
    code === "unsupported_version" ? `${message} ${advice ?? ""}`.trim() : message,
    advice,
  );
}

/** Parses JSON. Returns null for invalid input. */
export function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the fields of an untrusted object, or no fields for any other value. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : {};
}
