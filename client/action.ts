import type { FlagTexts } from "../common/command_line/mod.ts";
import type { Logger } from "../common/log.ts";
import type { ClientConfig } from "./config.ts";
import type { StartEmbeddedRelay } from "./expose/open_relay.ts";

/** The command line's part of a client run. */
export interface ClientRun {
  /** Texts of the given flags. */
  flags: FlagTexts;
  startEmbeddedRelay: StartEmbeddedRelay;
  /** Whether tunnels are saved for `--resume`. */
  isKept: boolean;
}

/** The context for an action. */
export interface ActionContext extends ClientRun {
  config: ClientConfig;
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
}

/**
 * An action of the client.
 * @returns the exit code
 * @throws Error with a line for the user; an `OptionError` for options that exclude each other
 */
export type CarryOut = (context: ActionContext) => Promise<number>;
