import { readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second (`getconf CLK_TCK`). */
const TICK_US = 10_000;

/** CPU time, user and system, that the processes have taken so far, in microseconds. 0 for none, NaN if one has ended. */
export function readCpu(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readCpuOf(pid), 0);
}

function readCpuOf(pid: number): number {
  const text = readProc(pid, "stat");
  if (text === null) return NaN;
  // The name in parentheses may hold spaces; utime and stime are the 14th and 15th field of the line.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** Time of all processors so far, in hundredths of a second. */
export interface Processors {
  readonly all: number;
  /** Taken by the host of a virtual machine for others. */
  readonly stolen: number;
}

/** The first line of /proc/stat (proc_stat(5)); zeros where there is none. */
export function readProcessors(): Processors {
  try {
    const [line] = readFileSync("/proc/stat", "utf8").split("\n", 1);
    // What guests of this machine take, behind `steal`, is in `user` already.
    const times = line.split(/\s+/).slice(1, 9).map(Number);
    return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[STEAL] };
  } catch {
    return { all: 0, stolen: 0 };
  }
}

const STEAL = 7;

/** Memory in use now, in bytes; NaN if one of them has ended. */
export const readMemory = (pids: readonly number[]): number => readStatus(pids, "VmRSS");

/** The most memory used so far, in bytes. */
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
