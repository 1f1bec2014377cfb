/** Frame types and flags. docs/reference/protocol.md describes them. */

export const FrameType = {
  /** Relay to client: opens a stream. Payload: request line, field lines, blank line; any bytes on a raw stream. */
  request: 1,
  /** Client to relay: status (2), block length (2), block (reason phrase, CRLF, field lines), then body. */
  response: 2,
  /** A chunk from a body, an upgraded connection or a raw stream. */
  data: 3,
  /** Field lines after a body. They end this direction. */
  trailers: 4,
  /** Ends the stream at once: reason (2), text. */
  reset: 5,
  /** Lets the peer send more bytes (4). */
  credit: 6,
  /** Heartbeat on stream 0: 8 bytes that the PONG repeats. */
  ping: 7,
  pong: 8,
  /** Ends the session, on stream 0: reason (2), text. */
  goAway: 9,
  /** Relay to client, on stream 0, for clients that asked for it: code (2), text for their user. */
  notice: 10,
} as const;
/** A value of {@link FrameType}; any other value from a peer ends the session. */
export type FrameType = typeof FrameType[keyof typeof FrameType];

/** The last frame in this direction (REQUEST, RESPONSE, DATA). */
export const END = 1;
/** The request asks for an upgrade (REQUEST). */
export const UPGRADE = 2;
/** The response may begin with bytes beyond its credit (REQUEST). */
export const OVERDRAW = 4;
/** The stream carries bytes without HTTP in both directions from the start (REQUEST). */
export const RAW = 8;

/** A frame breaks the protocol. The error ends its session and no other. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}
