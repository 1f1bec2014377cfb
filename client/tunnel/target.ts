import type { RequestHead } from "../../net/http1/mod.ts";
import type { RequestStream, Stream, StreamHandler } from "../../protocol/mod.ts";

/** One visitor request in a session. */
export interface TunnelRequest {
  readonly stream: RequestStream;
  /** The head; its first field is the host. It is valid until `handle` returns, like its bytes. */
  readonly head: RequestHead;
  /** No body follows. */
  readonly bodyless: boolean;
  /** The request asks for an upgrade: after a 101 both directions carry bytes. */
  readonly upgrade: boolean;
}

/** Handles the requests of a tunnel. */
export interface Target {
  /** The name for the user: `http://localhost:3000`, or the shared path. */
  readonly name: string;
  /** Handles one request. Returns the handler for later events on its stream. */
  handle(request: TunnelRequest): StreamHandler;
  /**
   * Accepts a raw stream, whose opening is valid during the call only. Returns the handler of its bytes. Without this
   * method the session refuses raw streams.
   */
  accept?(stream: Stream, opening: Uint8Array): StreamHandler;
  /** Closes idle connections and other resources. */
  close(): Promise<void>;
}
