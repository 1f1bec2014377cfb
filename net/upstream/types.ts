/** An outgoing request with a serialized head. */
export interface OutgoingRequest {
  /** As in the head; decides whether the response has a body. */
  readonly method: string;
  /** Request line, fields and blank line. */
  readonly head: Uint8Array;
  readonly framing: OutgoingFraming;
  /** A sequence is sent as it is produced. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
  /** The head asks for another protocol, so 101 is a valid response. */
  readonly upgrade: boolean;
  readonly ending: Ending;
}

/** Framing for a request body: none, `length` bytes, or chunks. */
export type OutgoingFraming = { readonly length: number } | "chunked" | "none";

/** Can end a request, and its response body, early. */
export interface Ending {
  /** The reason to end; null while the request may continue. */
  readonly reason: Error | null;
  /** Sets the callback for the end. A later call replaces it. */
  onEnd(end: ((reason: Error) => void) | null): void;
}

/** The connection to an upstream broke or ended before its response was complete. */
export class ConnectionBroken extends Error {
  override name = "ConnectionBroken";
}

/** Converts the drivers' various errors for a broken connection. @throws ConnectionBroken */
export function breakOff(cause: unknown): never {
  throw new ConnectionBroken("the connection broke", { cause });
}

/** The upstream ended a connection without a response byte. */
export class NoResponse extends ConnectionBroken {
  override name = "NoResponse";
}

/** The body does not match its Content-Length: sending it would shift the next request. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}
