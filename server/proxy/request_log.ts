import type { Logger } from "../../common/log.ts";

/** What the log tells of one request to the proxy, gathered on its way and written once, when all is over. */
export class RequestRecord {
  readonly #log: Logger;
  readonly #path: string;
  readonly #address: string;
  readonly #startedAt = performance.now();
  #isWritten = false;
  /** What was asked of the upstream; null for what never came so far. */
  upstream: { readonly method: string; readonly url: URL } | null = null;
  /** The upstream's status, or our own where it was not reached. */
  status = 0;
  /** Bytes of the answer's body as they came from the upstream. */
  bytes = 0;
  redirects = 0;
  /** Our error code. */
  code: string | undefined;
  /** The body is still on its way when the answer has begun: whoever sends it calls {@link write}. */
  isStreamed = false;

  /**
   * @param path where the proxy was asked
   * @param address who asked
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
 * A URL for the log: of the query the names alone, as values often are keys, and of the path no part that looks like
 * one: long, and with letters and digits in it.
 */
function hideSecrets({ origin, pathname, search }: URL): string {
  const path = pathname.length < LEAST_SECRET ? pathname : pathname.split("/").map(hideSegment).join("/");
  return search === "" ? origin + path : `${origin}${path}?${listNames(search)}`;
}

const LEAST_SECRET = 20;

function hideSegment(segment: string): string {
  return segment.length >= LEAST_SECRET && /\d/.test(segment) && /[a-z]/i.test(segment) ? "*" : segment;
}

/** A part without `=` may be a value just as well. */
function listNames(search: string): string {
  return search.slice(1).split("&").map((pair) => pair.includes("=") ? hideSegment(pair.split("=", 1)[0]) : "*").join(
    "&",
  );
}
