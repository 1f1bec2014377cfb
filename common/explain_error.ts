import { describeError } from "./log.ts";

/** What the system's codes mean to who started the program. */
const REASONS: ReadonlyMap<string, string> = new Map(Object.entries({
  EACCES: "the system does not permit it",
  EADDRINUSE: "another program listens there already",
  EADDRNOTAVAIL: "this machine has no such address",
  EISDIR: "it is a folder",
  ELOOP: "its links lead in a circle",
  EMFILE: "too many files are open",
  ENOENT: "there is no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "something in its path is no folder",
  EPERM: "the system does not permit it",
  EROFS: "the disk is read-only",
}));

/**
 * Why something could not be done, for people: each runtime has words of its own for what the system says, with its calls
 * and numbers in them. The code stays, to be looked up.
 */
export function explainError(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = REASONS.get(code);
  return reason === undefined ? describeError(error) : `${reason} (${code})`;
}
