import process from "node:process";
import { delay } from "../delay.ts";

/** What is done where, for tests. */
export interface Retrying<Pause> {
  /** Default this system. */
  platform?: string;
  /** Lets so many milliseconds pass. */
  pause?(ms: number): Pause;
}

/** How long is waited between attempts, 310 ms in all: a virus scanner or an indexer is done with a file by then. */
const PAUSES_MS = [10, 20, 40, 80, 160];

/**
 * Whether a call failed because another program has the file open: on Windows nobody can replace, remove or open it then,
 * while elsewhere that always works.
 */
export function isHeldOpen(error: unknown, platform: string = process.platform): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return platform === "win32" && ["EPERM", "EACCES", "EBUSY"].includes(String(code));
}

/**
 * Does `work`, again where it fails because another program has a file open. It stops all else meanwhile, 310 ms at
 * most, so it is for files that strangers have no say in.
 * @throws what `work` throws in the end
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

/** {@link retryWhileHeld} for what strangers ask for: everything else goes on meanwhile, so `work` looks at all anew. */
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
