import type { Endpoint } from "../programs/types.ts";

/** Whom an attack is made on: a tunnel whose service is `_target.ts`. */
export type Victim = Endpoint;

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
