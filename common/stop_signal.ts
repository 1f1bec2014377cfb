import { readFileSync } from "node:fs";
import process from "node:process";

/** Ctrl+C in a terminal reaches a program twice when a task runner forwards it. */
const SAME_PRESS_MS = 500;

/** The user's request to stop, from Ctrl+C or SIGTERM. */
export interface StopSignal {
  readonly signal: AbortSignal;
  /**
   * Stops listening. After a stop signal it keeps listening until the process ends, because one key press can arrive
   * twice.
   */
  release(): void;
}

/** Source of signals: the process. */
export interface SignalSource {
  on(name: string, listener: (name: string) => void): unknown;
  off(name: string, listener: (name: string) => void): unknown;
}

/**
 * Returns the signals that ask a program to end, each with its exit code. On Windows a program cannot receive SIGTERM;
 * Windows has Ctrl+Break, and SIGHUP for a closed console window, which ends the program some seconds later in any case.
 * Elsewhere SIGHUP counts unless the program was started to ignore it, as `nohup` does.
 */
function listStopSignals(platform: string, isHangupIgnored: boolean): ReadonlyMap<string, number> {
  if (platform === "win32") return new Map([["SIGINT", 130], ["SIGBREAK", 149], ["SIGHUP", 129]]);
  const signals = new Map([["SIGINT", 130], ["SIGTERM", 143]]);
  return isHangupIgnored ? signals : signals.set("SIGHUP", 129);
}

/**
 * Reports whether this process was started with SIGHUP ignored. Linux reports that. Elsewhere a program without a
 * terminal on its standard output counts as ignoring it.
 */
function isHangupIgnored(): boolean {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (mask !== undefined) return (parseInt(mask.slice(-1), 16) & 1) === 1;
  } catch {
    // This system has no such file.
  }
  return process.stdout.isTTY !== true;
}

/**
 * Aborts its signal, with the signal's name as the reason, at one of {@link listStopSignals}. A later second one ends
 * the process.
 */
export function listenForStop(
  platform: string = process.platform,
  source: SignalSource = process,
  ignoresHangup = isHangupIgnored(),
): StopSignal {
  const stop = new AbortController(), codes = listStopSignals(platform, ignoresHangup);
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
