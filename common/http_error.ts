import { getStyleText } from "../web/styles/styles.ts";

/**
 * An error response. Code throws it at the failure, and {@link errorResponse} converts it once per boundary. `message`
 * and `details` are public; `cause` is for the log only.
 */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;
  /** Stable machine code, for example `tunnel_offline`. The header `portway-error` contains it too. */
  readonly code: string;
  readonly details: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Replaces the usual JSON body where a specification defines its shape (417, 508). */
  readonly body: Readonly<Record<string, unknown>> | undefined;

  constructor(status: number, code: string, message: string, options: HttpErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.body = options.body;
  }
}

/** Further properties of an {@link HttpError}. */
export interface HttpErrorOptions {
  /** A second sentence with the remedy. */
  details?: string;
  headers?: Record<string, string>;
  body?: Record<string, unknown>;
  cause?: unknown;
}

/** Returns 508 Loop Detected (RFC 5842, section 7.2) with the integer code and both texts. */
export function loopDetected(details: string): HttpError {
  const message = "Loop Detected";
  return new HttpError(508, "loop_detected", message, { details, body: { error: { code: 508, message, details } } });
}

/** Returns 404 `not_found` for an unknown address. */
export function nothingHere(): HttpError {
  return new HttpError(404, "not_found", "There is nothing at this address.");
}

/** Returns 503 `server_restarting` with a retry after 2 seconds. */
export function serverRestarting(): HttpError {
  return new HttpError(503, "server_restarting", "The server is restarting.", { headers: { "retry-after": "2" } });
}

/** Returns 405 with the allowed methods. @param allow methods, separated by ", " */
export function methodNotAllowed(allow: string): HttpError {
  return new HttpError(405, "method_not_allowed", `This path answers to ${allow} only.`, { headers: { allow } });
}

/** Returns 499 `caller_gone` for a closed connection. Only the log shows it. */
export function callerGone(): HttpError {
  return new HttpError(499, "caller_gone", "The caller has gone.");
}

/** Returns 413 and closes the connection, because the rest of the body stays unread. @param maxBytes the limit */
export function bodyTooLarge(maxBytes: number, details?: string): HttpError {
  const headers = { connection: "close" };
  return new HttpError(413, "body_too_large", `The body is larger than ${maxBytes} bytes.`, { details, headers });
}

/** Returns 417 Expectation Failed (RFC 9110, section 15.5.18). `extra` contains optional body fields. */
export function expectationFailed(message: string, extra: ExpectationFields = {}): HttpError {
  return new HttpError(417, "expectation_failed", message, {
    body: { error: "Expectation Failed", message, ...extra },
    headers: { connection: "close" },
  });
}

/** Optional body fields for 417. */
export interface ExpectationFields {
  suggestion?: string;
  supported_expectations?: string[];
  /** Bytes. */
  max_file_size?: number;
  /** Bytes. */
  your_file_size?: number;
}

/**
 * Returns the response for an error: a page for browsers (by `accept`), otherwise JSON. Each contains `portway-error:
 * <code>` and cannot run scripts.
 */
export function errorResponse(error: HttpError, accept: string | null): Response {
  const headers = new Headers({
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "portway-error": error.code,
    "vary": "accept",
    ...error.headers,
  });
  if (error.body === undefined && accept?.includes("text/html")) {
    headers.set("content-type", "text/html; charset=utf-8");
    return new Response(renderErrorPage(error), { status: error.status, headers });
  }
  headers.set("content-type", "application/json");
  const body = error.body ??
    { error: { code: error.code, message: error.message, ...(error.details && { details: error.details }) } };
  return new Response(JSON.stringify(body) + "\n", { status: error.status, headers });
}

const PAGE_STYLE = `
body{margin:0;min-height:100vh;display:grid;place-items:center;font:var(--text-body)/1.5 var(--sans);
background:var(--back);color:var(--text)}
main{box-sizing:border-box;width:min(34rem,100%);padding:var(--gap-6)}
.status{font:600 var(--text-small) var(--mono);color:var(--dim)}
h1{margin:var(--gap-1) 0 var(--gap-3);font-size:var(--text-title);line-height:1.25;overflow-wrap:anywhere}
p{margin:var(--gap-2) 0;color:var(--dim)}
footer{margin-top:var(--gap-6);font-size:var(--text-small);color:var(--dim)}
`;

function renderErrorPage(error: HttpError): string {
  const message = escapeHtml(error.message);
  const details = error.details ? `<p>${escapeHtml(error.details)}</p>` : "";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${error.status} · ${message}</title>
<style>${getStyleText("tokens.css")}${PAGE_STYLE}</style></head><body><main><div class="status">${error.status} ${
    escapeHtml(error.code)
  }</div>
<h1>${message}</h1>${details}<footer>Portway</footer></main></body></html>
`;
}

/** Escapes text for HTML content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
