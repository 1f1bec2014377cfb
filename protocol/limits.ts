/** Numbers of the wire contract. Both ends hold each other to them; changing one means a new version. */

/** Bytes of a frame's head: payload length (4), type (1), flags (1), stream (4). */
export const FRAME_HEAD = 10;

/** Largest head block, of a request or of a response, in bytes. A RESPONSE gives its length in 16 bits. */
export const MAX_HEAD = 0xffff;

/** Largest piece of a body or WebSocket message in one frame: big enough for bulk, small enough to share a session. */
export const MAX_PIECE = 64 * 1024;

/** Largest payload: a RESPONSE with the largest head and the largest piece. */
export const MAX_PAYLOAD = 8 + MAX_HEAD + MAX_PIECE;

/** Largest message on the session. Usual ones stay below one megabyte; heads of many streams at once may add up. */
export const MAX_MESSAGE = 64 * 1024 * 1024;

/** Bytes that each side may send on a new stream before it gets credit. */
export const INITIAL_WINDOW = 128 * 1024;

/** A window grows up to this while its reader keeps up: 4 MiB carry 300 Mbit/s over a round trip of 100 ms. */
export const MAX_WINDOW = 4 * 1024 * 1024;

/** What the windows of one session may grow by, all streams together; keeps memory bounded when readers stall. */
export const MAX_WINDOW_GROWTH = 32 * 1024 * 1024;

/** Largest WebSocket message carried, in bytes. */
export const MAX_WEBSOCKET_MESSAGE = 16 * 1024 * 1024;

/** Longest text in RESET and GOAWAY, in bytes. */
export const MAX_REASON = 512;

/** A side that has heard nothing for this long sends a PING. */
export const HEARTBEAT_MS = 10_000;

/** A side that has heard nothing for this long takes the session for dead. */
export const SILENCE_MS = 25_000;
