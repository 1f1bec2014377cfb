import process from "node:process";

/** A terminal's Ctrl+C reaches a program twice when a task runner in front of it passes it on. */
const SAME_PRESS_MS = 500;

/** The user's wish to end, from Ctrl+C or SIGTERM. */
export interface StopSignal {
  readonly signal: AbortSignal;
  /** Listens no more; once it was told to end, it does so until the process ends, as one press may still come twice. */
  release(): void;
}

/** What tells of signals: the process. */
export interface SignalSource {
  on(name: string, listener: (name: string) => void): unknown;
  off(name: string, listener: (name: string) => void): unknown;
}

/**
 * The signals that ask a program to end, each with the exit code that says so. Windows has no SIGTERM that a program
 * could hear; it has Ctrl+Break, and SIGHUP for a console window that is closed, which ends the program some seconds
 * later in any case. Elsewhere SIGHUP is left alone, so that `nohup` does its work.
 */
function listStopSignals(platform: string = process.platform): ReadonlyMap<string, number> {
  if (platform === "win32") return new Map([["SIGINT", 130], ["SIGBREAK", 149], ["SIGHUP", 129]]);
  return new Map([["SIGINT", 130], ["SIGTERM", 143]]);
}

/**
 * Aborts its signal, with the signal's name as the reason, at one of {@link listStopSignals}; a later second one ends
 * the process.
 */
export function listenForStop(platform?: string, source: SignalSource = process): StopSignal {
  const stop = new AbortController(), codes = listStopSignals(platform);
  let stoppedAt = 0;
  const onSignal = (name: string) => {
    if (stop.signal.aborted && Date.now() - stoppedAt > SAME_PRESS_MS) process.exit(codes.get(name));
    if (stop.signal.aborted) return;
    stoppedAt = Date.now();
    stop.abort(name);
  };
  for (const name of codes.keys()) source.on(name, onSignal);
  return {
    signal: stop.signal,
    release() {
      if (stop.signal.aborted) return;
      for (const name of codes.keys()) source.off(name, onSignal);
    },
  };
}
