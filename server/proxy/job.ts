import type { RequestDescription } from "./description.ts";

/** How the caller wants to be answered. */
export type AnswerFormat = { kind: "portway" } | { kind: "proxyscotch"; wantsBinary: boolean };

/** A request to carry out, and how to answer whoever asked for it. */
export interface Job {
  description: RequestDescription;
  format: AnswerFormat;
  /** A token given inside the description, as proxyscotch's callers do. */
  accessToken: string | null;
}
