import type { Logger } from "../../common/log.ts";

/** The log record for one request, written once at its end. */
export class RequestRecord {
  readonly #log: Logger;
  readonly #path: string;
  readonly #address: string;
  readonly #startedAt = performance.now();
  #isWritten = false;
  /** The request to the upstream; null when it was never sent. */
  upstream: { readonly method: string; readonly url: URL } | null = null;
  /** The upstream's status, or our own when the upstream was not reached. */
  status = 0;
  /** Body bytes from the upstream. */
  bytes = 0;
  redirects = 0;
  /** Our error code. */
  code: string | undefined;
  /** The body continues after the head. The sender calls {@link write} at its end. */
  isStreamed = false;

  /**
   * @param path the proxy's path
   * @param address the client's address
   */
  constructor(log: Logger, path: string, address: string) {
    this.#log = log;
    this.#path = path;
    this.#address = address;
  }

  write(): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    this.#log.info("proxy_request", {
      address: this.#address,
      path: this.#path,
      method: this.upstream?.method,
      upstream: this.upstream === null ? undefined : hideSecrets(this.upstream.url),
      status: this.status,
      error: this.code,
      redirects: this.redirects || undefined,
      bytes: this.bytes,
      ms: Math.round((performance.now() - this.#startedAt) * 10) / 10,
    });
  }
}

/**
 * Formats a URL for the log: only names from the query, because values are often keys, and no path segment that looks
 * like a key, which is long and mixes letters and digits.
 */
function hideSecrets({ origin, pathname, search }: URL): string {
  const path = pathname.length < LEAST_SECRET ? pathname : pathname.split("/").map(hideSegment).join("/");
  return search === "" ? origin + path : `${origin}${path}?${listNames(search)}`;
}

const LEAST_SECRET = 20;

function hideSegment(segment: string): string {
  return segment.length >= LEAST_SECRET && /\d/.test(segment) && /[a-z]/i.test(segment) ? "*" : segment;
}

/** A part without `=` may be a value. */
function listNames(search: string): string {
  return search.slice(1).split("&").map((pair) => pair.includes("=") ? hideSegment(pair.split("=", 1)[0]) : "*").join(
    "&",
  );
}
