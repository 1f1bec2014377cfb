import { HttpError } from "../../../common/http_error.ts";
import { isHeldOpen } from "../../../common/platform/mod.ts";

/** Returns the system's error code, such as `ENOENT`, or "" when `error` has none. */
export function getErrorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** Checks whether an operation failed because the disk or the user's quota is full. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof HttpError) return error.code === "disk_full";
  return ["ENOSPC", "EDQUOT"].includes(getErrorCode(error));
}

/**
 * Creates the 404 for a missing, hidden or outside entry. All three look alike, so that the response reveals no hidden
 * entry.
 */
export function noSuchEntry(cause?: unknown): HttpError {
  return new HttpError(404, "not_found", "There is no such file or folder.", { cause });
}

const ANSWERS: Readonly<Record<string, readonly [number, string, string] | undefined>> = {
  EACCES: [403, "not_permitted", "The system does not permit this."],
  EPERM: [403, "not_permitted", "The system does not permit this."],
  EROFS: [403, "not_permitted", "The folder is on a read-only file system."],
  ENOSPC: [507, "disk_full", "There is no space left for this."],
  EDQUOT: [507, "disk_full", "There is no space left for this."],
  EFBIG: [413, "file_too_large", "The file system takes no file as large as this."],
  EMFILE: [503, "too_many_open_files", "Too many files are open; try again."],
  ENFILE: [503, "too_many_open_files", "Too many files are open; try again."],
  EEXIST: [409, "already_exists", "Something of that name is already there."],
  ENOTEMPTY: [409, "already_exists", "Something of that name is already there."],
  EISDIR: [409, "is_folder", "There is a folder of that name."],
  EXDEV: [409, "other_file_system", "This cannot be moved to another file system."],
  EBUSY: [409, "in_use", "This is in use by the system, as a disk or by a program."],
  EINVAL: [409, "not_possible", "This cannot be done here."],
};

/** Signals that a folder was removed only in part, so some entries may be lost. */
export class RemovedInPart extends Error {
  override name = "RemovedInPart";
  /** The system's error code of the cause. */
  readonly code: string;

  constructor(cause: unknown) {
    super("a folder could not be removed whole", { cause });
    this.code = getErrorCode(cause);
  }
}

/**
 * Converts any thrown value to an HTTP error: a system error by its code, any other value to 500. Windows uses one code
 * for missing permission and for a file that another program has open.
 */
export function toHttpError(error: unknown, platform?: string): HttpError {
  if (error instanceof HttpError) return error;
  const code = getErrorCode(error), lost = error instanceof RemovedInPart ? " Some of what was in it may be gone." : "";
  if (["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "ENXIO"].includes(code)) return noSuchEntry(error);
  if (code !== "EBUSY" && isHeldOpen(error, platform)) {
    const message = `The system does not permit this, or a program has it open.${lost}`;
    return new HttpError(403, "not_permitted", message, { cause: error });
  }
  const [status, name, message] = ANSWERS[code] ??
    [500, "internal_error", "The share failed to answer this request."];
  return new HttpError(status, name, message + lost, { cause: error });
}
