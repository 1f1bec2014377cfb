import { ConnectError, type ConnectFailure } from "./types.ts";

/** A {@link ConnectError} for what a runtime threw; one that is already there stays. */
export function describeFailure(attempt: string, cause: unknown, signal?: AbortSignal): ConnectError {
  if (signal?.aborted) return describeAbort(attempt, signal);
  if (cause instanceof ConnectError) return cause;
  const failure = classify(cause);
  return new ConnectError(failure, `${attempt}: ${REASONS[failure] ?? messageOf(cause)}`, { cause });
}

/** The {@link ConnectError} for an attempt that its signal gave up. */
export function describeAbort(attempt: string, signal: AbortSignal): ConnectError {
  const cause: unknown = signal.reason;
  const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
  const failure = timedOut ? "timeout" : "aborted";
  return new ConnectError(failure, `${attempt}: ${timedOut ? "it took too long" : "given up"}`, { cause });
}

/** The {@link ConnectError} for a TLS handshake that failed. */
export function describeTlsFailure(hostname: string, cause: unknown, signal?: AbortSignal): ConnectError {
  const attempt = `cannot speak TLS with ${hostname}`;
  if (signal?.aborted) return describeAbort(attempt, signal);
  const reason = messageOf(cause);
  return new ConnectError("tls", `${attempt}: ${NO_TLS.test(reason) ? "what answers there does not" : reason}`, {
    cause,
  });
}

/** What rustls and OpenSSL say of bytes that are no TLS, such as an answer of HTTP. */
const NO_TLS = /InvalidContentType|wrong version number|packet length too long/i;

/** The {@link ConnectError} for a proxy that `cause` kept from being reached, which is not the peer's doing. */
export function describeProxyFailure(cause: unknown): ConnectError {
  const failure = cause instanceof ConnectError && WAITS.has(cause.failure) ? cause.failure : "proxy";
  return new ConnectError(failure, `cannot use the proxy: ${messageOf(cause)}`, { cause });
}

/** What ends every attempt alike, wherever it leads. */
const WAITS: ReadonlySet<ConnectFailure> = new Set(["timeout", "aborted"]);

/** Where the runtimes word it differently, or not for people. */
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
  // Node reports the attempts of one name together.
  if (cause instanceof AggregateError && cause.errors.length > 0) return classify(cause.errors[0]);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (isFailedLookup(messageOf(cause))) return "not_found";
  return FAILURES[code] ?? "failed";
}

/**
 * Whether a message of Deno's says that a name did not resolve, which has no code and no class of its own. Windows words
 * it in the user's language, behind which stands one of its numbers for it (WSAHOST_NOT_FOUND to WSANO_DATA).
 */
export function isFailedLookup(message: string): boolean {
  return /failed to lookup address|\(os error 1100[1-4]\)/.test(message);
}

function messageOf(cause: unknown): string {
  // OpenSSL's own message is several lines with places in its source; its reason is for people.
  const text = cause instanceof Error && "reason" in cause
    ? cause.reason
    : cause instanceof Error
    ? cause.message
    : cause;
  return String(text).trim().replace(/\s*\n[^]*/, "");
}
