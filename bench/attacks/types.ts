/** Whom an attack is made on: everything is dialled at 127.0.0.1. */
export interface Victim {
  port: number;
  /** The tunnel's host; its service is `_target.ts`. */
  host: string;
  /** It ends TLS. */
  isSecure?: boolean;
}

/** What attackers have done so far, for the report. */
export interface Tally {
  opened: number;
  /** Connections that the server has ended. */
  ended: number;
  /** Bytes sent. */
  sent: number;
  /** Answers by status. */
  answers: Record<string, number>;
}

/**
 * Brings the load into place, and keeps it there until its process ends.
 * @param count how many at a time
 */
export type Attack = (victim: Victim, count: number, tally: Tally) => Promise<void>;
