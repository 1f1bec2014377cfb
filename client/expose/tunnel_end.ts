import type { EndCause, TunnelEnd } from "../tunnel/mod.ts";

const REASONS: Readonly<Record<EndCause, string>> = {
  stopped: "The tunnel was stopped.",
  expired: "The tunnel has expired.",
  exhausted: "The traffic of the tunnel is used up.",
  replaced: "Another client of yours has taken this tunnel over.",
  refused: "The server no longer knows this tunnel.",
  disabled: "The tunnel may not be used any more.",
  allowance: "Your traffic of this month is used up.",
  removed: "The tunnel was deleted.",
  loggedOut: "The login has ended.",
};

/** The causes of which what the relay or the login says tells more than we know. */
const TOLD: ReadonlySet<EndCause> = new Set(["disabled", "allowance", "loggedOut"]);

/** Why a tunnel ended, in a sentence for its user. */
export function explainEnd({ cause, text }: TunnelEnd): string {
  if (!TOLD.has(cause) || text === "") return REASONS[cause];
  return `${text[0].toUpperCase()}${text.slice(1)}`.replace(/\.?$/, ".");
}

/** The causes that no user meant, and no time brought. */
const LOST: ReadonlySet<EndCause> = new Set(["refused", "disabled", "allowance", "removed", "loggedOut"]);

/** The exit code of a run whose tunnel ended so: 1 for who lost one that was theirs. */
export const exitCodeOf = ({ cause }: TunnelEnd): number => LOST.has(cause) ? 1 : 0;
