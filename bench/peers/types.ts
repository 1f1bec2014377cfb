import type { StartContestant } from "../programs/types.ts";
import type { StartIdleHost } from "../workloads/idle.ts";

/** Another tunnel, as installed on this machine. */
export interface Peer {
  name: string;
  /** Differences from Portway. */
  about: string;
  version: string;
  start: StartContestant;
  /** Opens its idle tunnels, if each has its own connection as in Portway. */
  startIdle?: StartIdleHost;
  /** Start commands, one line per program. */
  commands: readonly string[];
}

/** An unmeasurable peer, with the reason. */
export interface MissingPeer {
  name: string;
  missing: string;
}
