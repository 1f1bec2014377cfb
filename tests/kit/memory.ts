import { readFile } from "node:fs/promises";

/** Bytes. */
export interface Memory {
  /** VmRSS: resident now. */
  resident: number;
  /** VmHWM: resident at most, since the process began. */
  peak: number;
}

/** The memory of a process, as Linux counts it. */
export async function readMemory(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return { resident: readField(status, "VmRSS"), peak: readField(status, "VmHWM") };
}

function readField(status: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status);
  if (found === null) throw new Error(`/proc/<pid>/status has no ${name}`);
  return Number(found[1]) * 1024;
}
