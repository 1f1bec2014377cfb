import { ConnectError, type ConnectFailure } from "./types.ts";

/** Returns a {@link ConnectError} for a runtime's error; an existing one stays. */
export function describeFailure(attempt: string, cause: unknown, signal?: AbortSignal): ConnectError {
  if (signal?.aborted) return describeAbort(attempt, signal);
  if (cause instanceof ConnectError) return cause;
  const failure = classify(cause);
  return new ConnectError(failure, `${attempt}: ${REASONS[failure] ?? messageOf(cause)}`, { cause });
}

/** Returns the {@link ConnectError} for an attempt that its signal aborted. */
export function describeAbort(attempt: string, signal: AbortSignal): ConnectError {
  const cause: unknown = signal.reason;
  const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
  const failure = timedOut ? "timeout" : "aborted";
  return new ConnectError(failure, `${attempt}: ${timedOut ? "it took too long" : "given up"}`, { cause });
}

/** Returns the {@link ConnectError} for a failed TLS handshake. */
export function describeTlsFailure(hostname: string, cause: unknown, signal?: AbortSignal): ConnectError {
  const attempt = `cannot speak TLS with ${hostname}`;
  if (signal?.aborted) return describeAbort(attempt, signal);
  const reason = messageOf(cause);
  return new ConnectError("tls", `${attempt}: ${NO_TLS.test(reason) ? "what answers there does not" : reason}`, {
    cause,
  });
}

/** Messages from rustls and OpenSSL for bytes that are not TLS, such as an HTTP response. */
const NO_TLS = /InvalidContentType|wrong version number|packet length too long/i;

/** Returns the {@link ConnectError} for an unreachable proxy, which is not the peer's error. */
export function describeProxyFailure(cause: unknown): ConnectError {
  const failure = cause instanceof ConnectError && WAITS.has(cause.failure) ? cause.failure : "proxy";
  return new ConnectError(failure, `cannot use the proxy: ${messageOf(cause)}`, { cause });
}

/** Failures that end every attempt, regardless of its target. */
const WAITS: ReadonlySet<ConnectFailure> = new Set(["timeout", "aborted"]);

/** Reasons for failures where the runtimes differ, or are hard to read. */
const REASONS: { readonly [F in ConnectFailure]?: string } = {
  refused: "connection refused",
  not_found: "no such host",
  timeout: "no answer",
};

const FAILURES: Readonly<Record<string, ConnectFailure>> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "not_found",
  EAI_AGAIN: "not_found",
  ETIMEDOUT: "timeout",
};

function classify(cause: unknown): ConnectFailure {
  // Node joins all attempts for one name.
  if (cause instanceof AggregateError && cause.errors.length > 0) return classify(cause.errors[0]);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (isFailedLookup(messageOf(cause))) return "not_found";
  return FAILURES[code] ?? "failed";
}

/**
 * Reports whether Deno's message means a failed name lookup, which has neither code nor class. Windows translates the
 * text and adds one of its numbers (WSAHOST_NOT_FOUND to WSANO_DATA).
 */
export function isFailedLookup(message: string): boolean {
  return /failed to lookup address|\(os error 1100[1-4]\)/.test(message);
}

function messageOf(cause: unknown): string {
  // OpenSSL's message has several lines with source locations; its reason is readable.
  const text = cause instanceof Error && "reason" in cause
    ? cause.reason
    : cause instanceof Error
    ? cause.message
    : cause;
  return String(text).trim().replace(/\s*\n[^]*/, "");
}
