/** Frame types and flags, and how a frame's head is written and read. docs/reference/protocol.md is the prose of this file. */

export const FrameType = {
  /** Relay to client: opens a stream. Payload: request line, field lines, blank line. */
  request: 1,
  /** Client to relay: status (2), block length (2), block (reason phrase, CRLF, field lines), then body. */
  response: 2,
  /** A piece of body, or of what goes through an upgraded connection. */
  data: 3,
  /** Field lines behind a body. Ends this direction. */
  trailers: 4,
  /** Ends the stream at once: reason (2), text. */
  reset: 5,
  /** Lets the peer send more: bytes (4). */
  credit: 6,
  /** Heartbeat, stream 0: 8 bytes that the PONG repeats. */
  ping: 7,
  pong: 8,
  /** Session ends, stream 0: reason (2), text. */
  goAway: 9,
  /** Relay to client, stream 0, for clients that asked for it: code (2), text for their user. */
  notice: 10,
} as const;
/** A value of {@link FrameType}; a peer's other ones end the session. */
export type FrameType = typeof FrameType[keyof typeof FrameType];

/** Last frame of this direction (REQUEST, RESPONSE, DATA). */
export const END = 1;
/** The request asks for an upgrade of its connection (REQUEST). */
export const UPGRADE = 2;
/** The answer may begin with what its session may overdraw (REQUEST). */
export const OVERDRAW = 4;
/** The stream carries bytes without HTTP in both directions from the start (REQUEST). */
export const RAW = 8;

/** A frame that breaks the protocol. It ends the session, never more than that. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}
