import process from "node:process";

/**
 * Whether a process of that number runs on this machine, be it another user's. A number that is none of a process is of
 * none that runs; 0 and less would mean groups of processes.
 * @param ask sends signal 0, which asks and does nothing, on Windows too
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
