import type { RequestHead } from "../../net/http1/mod.ts";
import type { RequestStream, Stream, StreamHandler } from "../../protocol/mod.ts";

/** One visitor request as it arrived in a session. */
export interface TunnelRequest {
  readonly stream: RequestStream;
  /** Its first field is the host. It is there, and so are its bytes, until `handle` returns. */
  readonly head: RequestHead;
  /** No body follows. */
  readonly bodyless: boolean;
  /** It asks for an upgrade of its connection: after a 101 bytes go both ways. */
  readonly upgrade: boolean;
}

/** What a tunnel leads to. */
export interface Target {
  /** Shown to the user: `http://localhost:3000`, or what is shared. */
  readonly name: string;
  /** Answers one request. Returns the handler of what follows on its stream. */
  handle(request: TunnelRequest): StreamHandler;
  /**
   * Accepts a raw stream, whose opening is valid during the call only. Returns the handler of its bytes. Without this
   * method the session refuses raw streams.
   */
  accept?(stream: Stream, opening: Uint8Array): StreamHandler;
  /** Ends idle connections and whatever else it holds. */
  close(): Promise<void>;
}
