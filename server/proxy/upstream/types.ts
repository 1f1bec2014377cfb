import type { Driver } from "../../../common/connection/mod.ts";
import type { Guard } from "../../guard/mod.ts";
import type { AnswerBody } from "./answer_body.ts";

/** One request to one target; redirects are answers here. */
export interface UpstreamRequest {
  method: string;
  url: URL;
  /** Framing is not theirs: a Content-Length among them announces the length of a sequence, nothing else is allowed. */
  headers: readonly (readonly [string, string])[];
  /** A sequence is sent as it is produced: chunked, unless the headers give its Content-Length. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
}

/** Who may end a request, and the body of its answer, early. */
export interface Ending {
  /** Why the request has to end; null while it may go on. */
  readonly reason: Error | null;
  /** Takes the one to call when it has to end. */
  onEnd(end: ((reason: Error) => void) | null): void;
}

/** An answer whose body has not been read yet. */
export interface UpstreamAnswer {
  status: number;
  statusText: string;
  /** As sent: order, case and duplicates kept. Bytes beyond ASCII are Latin-1. */
  headers: [string, string][];
  body: AnswerBody;
  /** False where a Content-Length speaks of a body that is not sent: HEAD, 204 and 304. */
  hasBody: boolean;
  /** 0 for both when an open connection was used again. */
  dnsMs: number;
  connectMs: number;
}

/** Sends requests to targets over connections that the guard has checked. */
export interface Upstream {
  /**
   * Resolves with the head of the answer. A body that is not read to its end is to be cancelled.
   * Rejects with `HttpError`, or with the reason it had to end for.
   */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Closes idle connections at once, and those in use when they are done with. */
  close(): void;
}

export interface UpstreamOptions {
  guard: Guard;
  /** For each address of a target that is tried. */
  connectTimeoutMs: number;
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
  /** By default the runtime's own, and the Node driver for TLS and uploads. */
  driver?: Driver;
  limits?: Partial<ConnectionLimits>;
}

/** What strangers cannot make grow beyond. */
export interface ConnectionLimits {
  /** Connections open to one target; further requests wait for one of them. */
  perTarget: number;
  /** Connections open altogether, idle ones included; further requests are refused. */
  total: number;
  /** Milliseconds that one is kept for the next request. */
  idleMs: number;
}
