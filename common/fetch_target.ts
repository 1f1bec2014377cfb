/**
 * Something in this process that answers visitors' requests itself: a file share, a site. A tunnel or a
 * listener hands it one request at a time and carries the answer back.
 */
export interface FetchTarget {
  /**
   * Answers one request. Never rejects: what goes wrong becomes an error response.
   * `request.body` is read with back-pressure; `request.signal` aborts when the visitor has gone.
   */
  fetch(request: Request, info: FetchInfo): Promise<Response>;
  /** Frees what the target holds. Requests after it are answered 503. */
  close(): Promise<void>;
}

/** What a fetch handler is told besides the web-standard `Request`. */
export interface FetchInfo {
  /** The request target byte for byte as the visitor sent it: `request.url` is normalised, so no gate may trust it. */
  path: string;
  /** Address of the visitor, believed. */
  remoteAddress: string;
  /** The host visitors use, where it is known and differs from the Host header. */
  publicHost?: string;
  /** Whether the answer goes straight to a socket, and each piece of its body is sent before the next is asked for. */
  isDirect?: boolean;
}
