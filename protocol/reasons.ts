/** Why a stream was reset. The numbers are the wire's. */
export const ResetReason = {
  /** The answer is complete and the rest of the request is not wanted. */
  none: 0,
  /** The other side went away: visitor left, or local service closed in the middle. */
  cancelled: 1,
  /** The local service refused the connection or could not be reached. */
  refused: 2,
  /** The local service broke off before its answer was complete. */
  broken: 3,
  /** The local service answered with something that is not HTTP. */
  notHttp: 4,
  /** Nothing moved for too long. */
  idle: 5,
  /** The session ended underneath. Never on the wire. */
  sessionLost: 6,
  /** A limit of this side was reached. */
  limit: 7,
  /** This port may not be reached through the tunnel. */
  forbidden: 8,
  /** A defect on the side that sent it. */
  internal: 9,
} as const;
/** A value of {@link ResetReason}; others that a newer peer sends are taken for `cancelled`. */
export type ResetReason = typeof ResetReason[keyof typeof ResetReason];

/** Why a session ends. The numbers are the wire's. */
export const GoAwayReason = {
  /** Closed on purpose by its owner. */
  closed: 0,
  /** The relay restarts: streams in flight finish, connect again for new ones. */
  draining: 1,
  /** A newer session of the same owner carries the tunnel now. */
  replaced: 2,
  /** The tunnel's time is over. */
  expired: 3,
  /** The tunnel's traffic is used up. */
  exhausted: 4,
  /** The peer broke the protocol. */
  protocolError: 5,
  /** Heartbeats stopped, or the connection broke. Never on the wire. */
  lost: 6,
  /** The tunnel may not be used now: switched off, suspended, or its user or account may not any more. */
  disabled: 7,
  /** The month's traffic of the user is used up. */
  allowance: 8,
  /** The tunnel was deleted. */
  removed: 9,
} as const;
/** A value of {@link GoAwayReason}; others that a newer peer sends are taken for `closed`. */
export type GoAwayReason = typeof GoAwayReason[keyof typeof GoAwayReason];

/** What a client should tell its user while a session goes on. The numbers are the wire's. */
export const NoticeCode = {
  /** Most of the month's traffic is used up. */
  allowanceLow: 1,
} as const;
/** A value of {@link NoticeCode}; a newer relay may send others. */
export type NoticeCode = typeof NoticeCode[keyof typeof NoticeCode];
