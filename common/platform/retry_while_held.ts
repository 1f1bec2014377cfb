import process from "node:process";
import { delay } from "../delay.ts";

/** Replacements for tests. */
export interface Retrying<Pause> {
  /** Default: this system. */
  platform?: string;
  /** Waits for some milliseconds. */
  pause?(ms: number): Pause;
}

/** Delays between attempts, 310 ms in total: enough for a virus scanner or an indexer. */
const PAUSES_MS = [10, 20, 40, 80, 160];

/**
 * Reports whether another program holds the file open. Windows then refuses to replace, remove or open it; other
 * systems do not.
 */
export function isHeldOpen(error: unknown, platform: string = process.platform): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return platform === "win32" && ["EPERM", "EACCES", "EBUSY"].includes(String(code));
}

/**
 * Runs `work`, and repeats it while another program holds a file open. Blocks the process for up to 310 ms, so use it
 * only for files that visitors cannot choose.
 * @throws the last error from `work`
 */
export function retryWhileHeld<T>(work: () => T, { platform, pause = stopFor }: Retrying<void> = {}): T {
  for (const ms of PAUSES_MS) {
    try {
      return work();
    } catch (error) {
      if (!isHeldOpen(error, platform)) throw error;
      pause(ms);
    }
  }
  return work();
}

/**
 * {@link retryWhileHeld} for files that visitors choose. The process continues meanwhile, so `work` must check all
 * conditions again.
 */
export async function retryLaterWhileHeld<T>(
  work: () => Promise<T>,
  { platform, pause = delay }: Retrying<Promise<void>> = {},
): Promise<T> {
  for (const ms of PAUSES_MS) {
    try {
      return await work();
    } catch (error) {
      if (!isHeldOpen(error, platform)) throw error;
      await pause(ms);
    }
  }
  return await work();
}

function stopFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
