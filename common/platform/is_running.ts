import process from "node:process";

/**
 * Reports whether a process runs on this machine, for any user. Invalid numbers count as not running; 0 and negative
 * numbers would mean process groups.
 * @param ask sends signal 0, which only checks, on Windows too
 */
export function isRunning(pid: number, ask: (pid: number, signal: 0) => unknown = process.kill): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    ask(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
