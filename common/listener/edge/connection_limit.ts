import { readFileSync } from "node:fs";

/** Descriptors that connections leave to files, databases and calls of ours, and to those that are turned away. */
const SPARE = 640;
/** Of few descriptors connections get this much at least. */
const LEAST_SHARE = 0.25;
/** For systems that do not tell. */
const FALLBACK = 100_000;

/**
 * How many connections this process can hold without running out of descriptors. Beyond that, accepting fails, and on
 * Deno a server of node:http never accepts again.
 */
export function readConnectionLimit(): number {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    if (limit === undefined) return FALLBACK;
    return Math.floor(Math.max(Number(limit) - SPARE, Number(limit) * LEAST_SHARE));
  } catch {
    return FALLBACK;
  }
}
