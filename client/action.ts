import type { FlagTexts } from "../common/command_line/mod.ts";
import type { Logger } from "../common/log.ts";
import type { ClientConfig } from "./config.ts";
import type { StartEmbeddedRelay } from "./expose/open_relay.ts";

/** What the command line hands to a run of the client. */
export interface ClientRun {
  /** Texts of the flags given on the command line. */
  flags: FlagTexts;
  startEmbeddedRelay: StartEmbeddedRelay;
  /** Whether tunnels are kept for `--resume`. */
  isKept: boolean;
}

/** What an action knows of the run that it carries out. */
export interface ActionContext extends ClientRun {
  config: ClientConfig;
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
}

/**
 * What a run of the client does, in a file of its own.
 * @returns the exit code
 * @throws Error with a line for the user; an `OptionError` for options that do not go together
 */
export type CarryOut = (context: ActionContext) => Promise<number>;
