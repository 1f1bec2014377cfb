import { HttpError } from "../../../common/http_error.ts";
import { isHeldOpen } from "../../../common/platform/mod.ts";

/** The system's name for why a file operation failed, e.g. `ENOENT`; "" when `error` is none. */
export function getErrorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** Whether an operation failed because the disk, or the user's share of it, is full. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof HttpError) return error.code === "disk_full";
  return ["ENOSPC", "EDQUOT"].includes(getErrorCode(error));
}

/** 404 for whatever a visitor may not know exists: missing, hidden and outside look the same. */
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

/** A folder could not be removed, nor left as it was: some of what was in it may be gone. */
export class RemovedInPart extends Error {
  override name = "RemovedInPart";
  /** The system's, as of the error that it is about. */
  readonly code: string;

  constructor(cause: unknown) {
    super("a folder could not be removed whole", { cause });
    this.code = getErrorCode(cause);
  }
}

/**
 * Turns whatever was thrown into the answer for it: an error of the system by its code, anything else 500. Windows has
 * one code for what is not permitted and for what another program has open.
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
