import process from "node:process";

/** A terminal's Ctrl+C reaches a program twice when a task runner in front of it passes it on. */
const SAME_PRESS_MS = 500;

/** The user's wish to end, from Ctrl+C or SIGTERM. */
export interface StopSignal {
  readonly signal: AbortSignal;
  /** Listens no more; once it was told to end, it does so until the process ends, as one press may still come twice. */
  release(): void;
}

/** Aborts its signal, with the signal's name as the reason, at SIGINT or SIGTERM; a later second one ends the process. */
export function listenForStop(): StopSignal {
  const stop = new AbortController();
  let stoppedAt = 0;
  const onSignal = (name: string) => {
    if (stop.signal.aborted && Date.now() - stoppedAt > SAME_PRESS_MS) process.exit(name === "SIGINT" ? 130 : 143);
    if (stop.signal.aborted) return;
    stoppedAt = Date.now();
    stop.abort(name);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    signal: stop.signal,
    release() {
      if (stop.signal.aborted) return;
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
