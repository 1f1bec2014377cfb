import { describeError } from "./log.ts";

/** Explanations for the system's error codes. */
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
 * Returns a readable reason for a failed operation. Each runtime adds its own wording and numbers to system errors. The
 * code stays, so that users can look it up.
 */
export function explainError(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = REASONS.get(code);
  return reason === undefined ? describeError(error) : `${reason} (${code})`;
}
