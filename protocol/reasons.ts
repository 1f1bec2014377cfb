/** Reasons for a stream's reset. The numbers appear on the wire. */
export const ResetReason = {
  /** The response is complete and the request's rest is not wanted. */
  none: 0,
  /** The other side closed its connection: the visitor disconnected, or the local service closed early. */
  cancelled: 1,
  /** The local service refused the connection or cannot be reached. */
  refused: 2,
  /** The local service broke off before its response was complete. */
  broken: 3,
  /** The local service responded with bytes that are not HTTP. */
  notHttp: 4,
  /** No frame moved for too long. */
  idle: 5,
  /** The stream's session ended. Never on the wire. */
  sessionLost: 6,
  /** This side reached a limit. */
  limit: 7,
  /** The tunnel may not reach this port. */
  forbidden: 8,
  /** A defect on the side that sent it. */
  internal: 9,
} as const;
/** A {@link ResetReason} value; a newer peer's unknown values count as `cancelled`. */
export type ResetReason = typeof ResetReason[keyof typeof ResetReason];

/** Reasons for a session's end. The numbers appear on the wire. */
export const GoAwayReason = {
  /** The owner closed it on purpose. */
  closed: 0,
  /** The relay restarts: open streams finish, new ones need another connection. */
  draining: 1,
  /** The same owner's newer session carries the tunnel now. */
  replaced: 2,
  /** The tunnel's time is over. */
  expired: 3,
  /** The tunnel's traffic is used up. */
  exhausted: 4,
  /** The peer broke the protocol. */
  protocolError: 5,
  /** Heartbeats stopped, or the connection broke. Never on the wire. */
  lost: 6,
  /** The tunnel may not be used now: it is switched off or suspended, or its user or account lost the right to it. */
  disabled: 7,
  /** The user's traffic for this month is used up. */
  allowance: 8,
  /** The tunnel was deleted. */
  removed: 9,
} as const;
/** A {@link GoAwayReason} value; a newer peer's unknown values count as `closed`. */
export type GoAwayReason = typeof GoAwayReason[keyof typeof GoAwayReason];

/** Messages for the client's user during a session. The numbers appear on the wire. */
export const NoticeCode = {
  /** Most traffic for this month is used up. */
  allowanceLow: 1,
} as const;
/** A {@link NoticeCode} value; a newer relay may send others. */
export type NoticeCode = typeof NoticeCode[keyof typeof NoticeCode];
