import type { Endpoint } from "../programs/types.ts";

/** An attack's target: a tunnel to the service `_target.ts`. */
export type Victim = Endpoint;

/** Attackers' results so far, for the report. */
export interface Tally {
  opened: number;
  /** Connections that the server closed. */
  ended: number;
  /** Bytes sent. */
  sent: number;
  /** Responses by status. */
  answers: Record<string, number>;
}

/**
 * Brings the load into position, and holds it until its process ends.
 * @param count concurrent attackers
 */
export type Attack = (victim: Victim, count: number, tally: Tally) => Promise<void>;
