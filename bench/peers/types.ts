import type { StartContestant } from "../programs/types.ts";
import type { StartIdleHost } from "../workloads/idle.ts";

/** Another tunnel, as this machine has it. */
export interface Peer {
  name: string;
  /** What it does and does not do beside us. */
  about: string;
  version: string;
  start: StartContestant;
  /** How its idle tunnels are opened, where each has a connection of its own as ours have. */
  startIdle?: StartIdleHost;
  /** How it was started, a line a program. */
  commands: readonly string[];
}

/** A peer that cannot be measured here, and why. */
export interface MissingPeer {
  name: string;
  missing: string;
}
