/**
 * A request handler in this process, for example a file share or a site. A tunnel or a listener passes it requests and
 * forwards the responses.
 */
export interface FetchTarget {
  /**
   * Responds to one request. Never rejects: failures become error responses. Reading `request.body` applies
   * back-pressure; `request.signal` aborts when the visitor disconnects.
   */
  fetch(request: Request, info: FetchInfo): Promise<Response>;
  /** Frees resources. Later requests get 503. */
  close(): Promise<void>;
}

/** Request details beyond the web-standard `Request`. */
export interface FetchInfo {
  /** The request target byte for byte as sent. `request.url` is normalised, so access checks must not trust it. */
  path: string;
  /** The visitor's verified address. */
  remoteAddress: string;
  /** The host for visitors, if known and different from Host. */
  publicHost?: string;
  /** Whether the response goes straight to a socket that takes each chunk before the next is requested. */
  isDirect?: boolean;
}
