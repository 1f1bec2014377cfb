/** Numbers of the wire contract. Both ends hold each other to them; changing one means a new version. */

/** Bytes of a frame's head: payload length (4), type (1), flags (1), stream (4). */
export const FRAME_HEAD = 10;

/** Largest head block, of a request or of a response, in bytes. A RESPONSE gives its length in 16 bits. */
export const MAX_HEAD = 0xffff;

/** Largest block of an interim answer and of trailers, in bytes: nothing paces them. */
export const MAX_SMALL_BLOCK = 16 * 1024;

/** Interim answers (1xx) before the final one. */
export const MAX_INTERIM = 32;

/** Largest piece of a body in one frame: big enough for bulk, small enough to share a session. */
export const MAX_PIECE = 64 * 1024;

/**
 * Largest payload: a RESPONSE with the largest head and the largest piece. An end of a session needs no more memory than
 * this and a frame's head to read it.
 */
export const MAX_PAYLOAD = 4 + MAX_HEAD + MAX_PIECE;

/** Bytes that each side may send on a new stream before it gets credit: what a reader who never reads may always hold. */
export const INITIAL_WINDOW = 40 * 1024;

/**
 * What each side may send beyond the credit of its streams, all together, in bytes: a body that does not fit its window
 * would wait a round trip for credit that fits it.
 */
export const OVERDRAFT = 1024 * 1024;

/** What the clients of all sessions of a relay's process may send so: those of 64 that requests are under way on. */
export const PROCESS_OVERDRAFT = 64 * OVERDRAFT;

/** A window grows up to this while its reader keeps up: 15 MiB carry 300 MB/s over a round trip of 50 ms. */
export const MAX_WINDOW = 15 * 1024 * 1024;

/**
 * What the windows of one session may grow by, all streams together: as much as one of them. Readers that kept up, and then
 * stall, hold it.
 */
export const MAX_WINDOW_GROWTH = 15 * 1024 * 1024;

/**
 * What all sessions of a process may grow by: readers that kept up, and then all stop at once, hold this much at most besides
 * their initial windows.
 */
export const PROCESS_GROWTH = 4 * MAX_WINDOW_GROWTH;

/**
 * The part of it that goes to readers of whom nothing is known yet: the rest is for those who have taken something. Besides
 * they hold what was overdrawn.
 */
export const MAX_EARLY_GROWTH = 3 * 1024 * 1024;

/** What a side has taken in of streams' frames it tells its peer as soon as it is so much, in bytes. */
export const MAX_UNACKNOWLEDGED = 64 * 1024;

/** Longest text in RESET and GOAWAY, in bytes. */
export const MAX_REASON = 512;

/** A side that has heard nothing for this long sends a PING. */
export const HEARTBEAT_MS = 10_000;

/** A side that has heard nothing for this long takes the session for dead. */
export const SILENCE_MS = 25_000;

/** Frames that carry nothing (PING, CREDIT of 0, empty DATA, ...) that a peer may send between two beats, a second apart. */
export const MAX_EMPTY_FRAMES = 10_000;
