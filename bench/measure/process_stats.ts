import { readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second (`getconf CLK_TCK`). */
const TICK_US = 10_000;

/** Returns the CPU time (user and system) so far, in microseconds. 0 without processes, NaN if one has ended. */
export function readCpu(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readCpuOf(pid), 0);
}

function readCpuOf(pid: number): number {
  const text = readProc(pid, "stat");
  if (text === null) return NaN;
  // The name in parentheses can contain spaces. utime and stime are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** Total CPU time so far, in hundredths of a second. */
export interface Processors {
  readonly all: number;
  /** Time that a virtual machine's host took for others. */
  readonly stolen: number;
}

/** Reads the first line in /proc/stat (proc_stat(5)). Returns zeros without it. */
export function readProcessors(): Processors {
  try {
    const [line] = readFileSync("/proc/stat", "utf8").split("\n", 1);
    // `user` already includes the time for guests, which follows `steal`.
    const times = line.split(/\s+/).slice(1, 9).map(Number);
    return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[STEAL] };
  } catch {
    return { all: 0, stolen: 0 };
  }
}

const STEAL = 7;

/** Returns the current memory, in bytes. NaN if a process has ended. */
export const readMemory = (pids: readonly number[]): number => readStatus(pids, "VmRSS");

/** Returns the peak memory so far, in bytes. */
export const readPeakMemory = (pids: readonly number[]): number => readStatus(pids, "VmHWM");

function readStatus(pids: readonly number[], field: string): number {
  let sum = 0;
  for (const pid of pids) {
    const text = readProc(pid, "status");
    sum += Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text ?? "")?.[1]) * 1024;
  }
  return sum;
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return null;
  }
}
