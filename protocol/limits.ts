/** The wire contract's limits. Both ends enforce them; a change needs a new version. */

/** Bytes in a frame's head: payload length (4), type (1), flags (1), stream (4). */
export const FRAME_HEAD = 10;

/** Largest head in a request or response in bytes. A RESPONSE gives its length in 16 bits. */
export const MAX_HEAD = 0xffff;

/** Largest interim response or trailers in bytes. Flow control does not cover them. */
export const MAX_SMALL_BLOCK = 16 * 1024;

/** Interim responses (1xx) before the final one. */
export const MAX_INTERIM = 32;

/** Largest body chunk in one frame: large enough for throughput, small enough to share a session. */
export const MAX_PIECE = 64 * 1024;

/**
 * Largest payload: a RESPONSE with the largest head and the largest chunk. A reader needs room for it and for a frame's
 * head.
 */
export const MAX_PAYLOAD = 4 + MAX_HEAD + MAX_PIECE;

/** Bytes that each side may send on a new stream without credit, and so the bytes that a stalled reader may hold. */
export const INITIAL_WINDOW = 40 * 1024;

/**
 * Bytes that each side may send beyond its streams' credit, together: a body that does not fit its window would
 * otherwise wait a round trip for credit.
 */
export const OVERDRAFT = 1024 * 1024;

/** The overdraft for all clients in a relay's process: enough for 64 sessions with open requests. */
export const PROCESS_OVERDRAFT = 64 * OVERDRAFT;

/** Largest window for a reader that keeps up: 15 MiB carry 300 MB/s over a 50 ms round trip. */
export const MAX_WINDOW = 15 * 1024 * 1024;

/**
 * Window growth for all streams in one session: as much as one stream may use. Readers that kept up, and then stall,
 * hold it.
 */
export const MAX_WINDOW_GROWTH = 15 * 1024 * 1024;

/**
 * Window growth for all sessions in a process: the most that readers who stop simultaneously hold beside their initial
 * windows and the overdraft.
 */
export const PROCESS_GROWTH = 4 * MAX_WINDOW_GROWTH;

/** A session's growth for readers that have not read a byte yet. The rest is for the others. */
export const MAX_EARLY_GROWTH = 3 * 1024 * 1024;

/** A side acknowledges received bytes in streams' frames at the latest when they reach this number. */
export const MAX_UNACKNOWLEDGED = 64 * 1024;

/** Longest text in RESET, GOAWAY and NOTICE in bytes. */
export const MAX_REASON = 512;

/** After this silence a side sends a PING. */
export const HEARTBEAT_MS = 10_000;

/** After this silence a side considers the session dead. */
export const SILENCE_MS = 25_000;

/**
 * Frames without content (PING, CREDIT of 0, empty DATA, ...) that a peer may send between two beats, a second apart.
 */
export const MAX_EMPTY_FRAMES = 10_000;
