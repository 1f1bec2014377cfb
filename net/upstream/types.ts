/** A request as it goes out over a connection: its head is bytes already. */
export interface OutgoingRequest {
  /** As in the head; it decides whether the answer has a body. */
  readonly method: string;
  /** Request line, fields and blank line. */
  readonly head: Uint8Array;
  readonly framing: OutgoingFraming;
  /** A sequence is sent as it is produced. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
  /** The head asks for another protocol, so that 101 is an answer to it. */
  readonly upgrade: boolean;
  readonly ending: Ending;
}

/** How a request's body is framed: there is none, `length` bytes, or chunks. */
export type OutgoingFraming = { readonly length: number } | "chunked" | "none";

/** Who may end a request, and the body of its answer, early. */
export interface Ending {
  /** Why the request has to end; null while it may go on. */
  readonly reason: Error | null;
  /** Takes the one to call when it has to end; a later call takes the place of an earlier one. */
  onEnd(end: ((reason: Error) => void) | null): void;
}

/** The connection to an upstream broke, or the upstream ended it, before its answer was complete. */
export class ConnectionBroken extends Error {
  override name = "ConnectionBroken";
}

/** What drivers throw at a connection that is gone differs; what it means does not. @throws ConnectionBroken */
export function breakOff(cause: unknown): never {
  throw new ConnectionBroken("the connection broke", { cause });
}

/** The upstream ended a connection without a byte of an answer. */
export class NoResponse extends ConnectionBroken {
  override name = "NoResponse";
}

/** The body is not as long as its Content-Length says: sending it would put the next request out of step. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}
