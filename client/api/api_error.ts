import { ConnectError } from "../../net/connection/mod.ts";
import { ResponseSyntaxError } from "../../net/http1/mod.ts";
import { describeError } from "../../common/log.ts";
import { ResponseMissing } from "./http_call.ts";

/** The server could not be asked, or is none. Worth trying again. */
export class ApiUnreachable extends Error {
  override name = "ApiUnreachable";
}

/** The server refused. Trying again changes nothing. */
export class ApiRefused extends Error {
  override name = "ApiRefused";
  /** Of the answer; 0 when what answered is no Portway server. */
  readonly status: number;
  /** What callers branch on, such as `plan_required`. */
  readonly code: string;
  /** What the reader can do about it, when the server says so. */
  readonly details: string | null;

  constructor(status: number, code: string, message: string, details: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** There is no login to ask with, or none that the server takes any more. */
export class LoginNeeded extends Error {
  override name = "LoginNeeded";
}

/** What answers there is no Portway server, or not one that this client understands. */
export const notPortway = (server: URL): ApiRefused =>
  new ApiRefused(0, "not_portway", `${server.origin} is not a Portway server`);

/** Turns what a failed call threw into one of ours, with a line for the user. */
export function explainCallFailure(server: URL, error: unknown): Error {
  const where = server.origin;
  if (error instanceof ConnectError) {
    return new ApiUnreachable(`cannot reach the server ${where}: ${error.message}`, { cause: error });
  }
  if (error instanceof ResponseSyntaxError) return notPortway(server);
  if (error instanceof ResponseMissing) {
    return new ApiUnreachable(`the server ${where} closed the connection without an answer`, { cause: error });
  }
  return new ApiUnreachable(`the connection to the server ${where} broke: ${describeError(error)}`, { cause: error });
}

/** The error that an answer of the API carries. */
export function parseRefusal(server: URL, status: number, text: string): ApiRefused | ApiUnreachable {
  const { code, message, details } = asRecord(asRecord(parseJsonOrNull(text)).error);
  if (typeof code !== "string" || typeof message !== "string") {
    // A proxy in front of a server that restarts answers these on its own.
    if (status >= 502 && status <= 504) return new ApiUnreachable(`the server ${server.origin} is not available`);
    return notPortway(server);
  }
  if (status >= 500) return new ApiUnreachable(message);
  const told = typeof details === "string" ? details : null;
  // The details of other refusals may be for visitors.
  return new ApiRefused(
    status,
    code,
    code === "unsupported_version" ? `${message} ${told ?? ""}`.trim() : message,
    told,
  );
}

/** What a text says as JSON; null when it is none. */
export function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The fields of an object that came from outside; none when it is something else. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : {};
}
