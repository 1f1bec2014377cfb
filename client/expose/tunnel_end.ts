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

/** Causes for which the relay or the login sends a better explanation. */
const TOLD: ReadonlySet<EndCause> = new Set(["disabled", "allowance", "loggedOut"]);

/** Returns the reason for a tunnel's end as a sentence. */
export function explainEnd({ cause, text }: TunnelEnd): string {
  if (!TOLD.has(cause) || text === "") return REASONS[cause];
  return `${text[0].toUpperCase()}${text.slice(1)}`.replace(/\.?$/, ".");
}

/** Causes that neither the user nor time brought about. */
const LOST: ReadonlySet<EndCause> = new Set(["refused", "disabled", "allowance", "removed", "loggedOut"]);

/** Returns the exit code after a tunnel's end: 1 if its owner lost it. */
export const exitCodeOf = ({ cause }: TunnelEnd): number => LOST.has(cause) ? 1 : 0;
