import { readFileSync } from "node:fs";
import process from "node:process";

/** Descriptors that connections leave to files, databases and calls of ours, and to those that are turned away. */
const SPARE = 640;
/** Of few descriptors connections get this much at least. */
const LEAST_SHARE = 0.25;
/** Descriptors that a process has where the system does not tell: what both runtimes raise the limit to on macOS. */
const ON_MAC = 10_240;
/** Windows has no limit that connections would reach. */
const FALLBACK = 100_000;

/**
 * How many connections this process can hold without running out of descriptors. Beyond that, accepting fails, and on
 * Deno a server of node:http never accepts again.
 */
export function readConnectionLimit(): number {
  return computeConnectionLimit(readLimits(), process.platform);
}

/** {@link readConnectionLimit} from what Linux says of the process in `/proc/self/limits`, or null elsewhere. */
export function computeConnectionLimit(limits: string | null, platform: string): number {
  const [, told] = /^Max open files +(\d+)/m.exec(limits ?? "") ?? [];
  const descriptors = told ?? (platform === "darwin" ? ON_MAC : null);
  if (descriptors === null) return FALLBACK;
  return Math.floor(Math.max(Number(descriptors) - SPARE, Number(descriptors) * LEAST_SHARE));
}

function readLimits(): string | null {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    return null;
  }
}
