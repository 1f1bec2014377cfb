import fs from "node:fs";
import { expectationFailed, HttpError } from "../../../common/http_error.ts";
import {
  type ContentRange,
  createEntityTag,
  parseContentRange,
  parseHttpDate,
  type Representation,
} from "../../../net/file_http/mod.ts";
import type { Folder, Root } from "../disk/root.ts";
import type { Completed, PartialUpload, UploadStore } from "./upload_store.ts";
import { openOrMakeFolder, type WriteTarget } from "../disk/write_target.ts";
import { randomBytes } from "node:crypto";
import { retryLaterWhileHeld, syncFolder } from "../../../common/platform/mod.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import { removeAside } from "../disk/remove_aside.ts";
import { OWN_PREFIX } from "../disk/share_path.ts";

/** The destination and conditions for an uploaded file. */
export interface PutFileOptions {
  root: Root;
  uploads: UploadStore;
  /** Largest accepted file in bytes; null for no limit. */
  maxUpload: number | null;
  /** Finds the destination. Called before the body is read, and again right before the file gets its name. */
  findPlace(): WriteTarget;
  /**
   * Checks the existing file before the body is read, and again right before the new file gets its name. Throws when
   * the request's conditions fail.
   */
  check(current: Representation | null): void;
  /** Checks whether a completed upload is still the stored file, so that it need not be sent again. */
  isStillThere(done: Completed, place: WriteTarget): boolean;
}

/** A request with a file or a part of one. Only its headers and body count. */
export type UploadRequest = Pick<Request, "headers" | "body">;

/**
 * Handles PUT: a whole file, or with Content-Range its next part (RFC 9110, section 14.5). The file appears only when
 * it is complete and on disk. An interrupted upload with a known length is kept for resumption.
 * @throws HttpError 409 with `upload-offset` when a part does not begin at the current offset
 */
export async function putFile(
  request: UploadRequest,
  segments: readonly string[],
  id: string,
  options: PutFileOptions,
): Promise<Response> {
  const announced = readAnnouncement(request, options.maxUpload);
  const modified = readModified(request.headers);
  const key = createUploadKey(segments, id);
  const done = id === "" ? undefined : await options.uploads.getCompleted(key);
  const place = options.findPlace();
  // The client missed the response to a completed upload and sends it again, so it gets the result now.
  if (done !== undefined && done.size === announced.total && options.isStillThere(done, place)) {
    return describeDone(done, modified !== null);
  }
  options.check(place.current);
  // Only a client with an id and a range can resume after a restart.
  const isKept = id !== "" && announced.range !== null;
  const upload = await openUpload(key, place.parent, announced, isKept, options.uploads);
  await receive(request, key, upload, announced, options);
  const isComplete = announced.total === null || upload.offset === announced.total;
  if (!isComplete) return new Response(null, { status: 202, headers: describeOffset(upload.offset) });
  return describeDone(
    await options.uploads.complete(key, upload, () => commit(request, upload, options)),
    modified !== null,
  );
}

function describeDone({ tag, isNew }: Completed, isDated: boolean): Response {
  const headers: Record<string, string> = { etag: tag };
  // Clients for ownCloud and similar servers resend the time without this confirmation.
  if (isDated) headers["x-oc-mtime"] = "accepted";
  return new Response(null, { status: isNew ? 201 : 200, headers });
}

/**
 * Reads the file's modification time in seconds since the epoch; null without one. rclone and ownCloud clients send
 * `X-OC-Mtime`.
 */
function readModified(headers: Headers): number | null {
  const seconds = /^\d{1,11}(?:\.\d{1,9})?$/.exec(headers.get("x-oc-mtime")?.trim() ?? "")?.[0];
  return seconds === undefined ? parseHttpDate(headers.get("last-modified")) : Number(seconds);
}

/**
 * Creates the key for an upload in the store. NUL never occurs in a path, so keys are unique.
 * @throws HttpError 400 `bad_upload_id`
 */
export function createUploadKey(segments: readonly string[], id: string): string {
  if (!/^[\w-]{0,64}$/.test(id)) {
    throw new HttpError(400, "bad_upload_id", "An upload id has at most 64 letters, digits, - and _.");
  }
  return `${segments.join("/")}\0${id}`;
}

/** Returns the header with the number of bytes received so far. */
export function describeOffset(offset: number): Record<string, string> {
  return { "upload-offset": String(offset), "cache-control": "no-store" };
}

interface Announcement {
  /** The range in this request; null for a whole file. */
  range: ContentRange | null;
  /** Length of the whole file; null when unknown. */
  total: number | null;
  /** Maximum length of this body in bytes. */
  bodyLimit: number;
}

function readAnnouncement(request: UploadRequest, maxUpload: number | null): Announcement {
  checkExpectation(request);
  const contentLength = request.headers.get("content-length");
  const length = contentLength === null ? null : Number(contentLength);
  const field = request.headers.get("content-range");
  const range = field === null ? null : parseContentRange(field);
  if (field !== null && (range === null || (length !== null && length !== range.end - range.start + 1))) {
    throw new HttpError(400, "bad_content_range", "Content-Range does not fit the body that it describes.", {
      details: "It reads: bytes FIRST-LAST/TOTAL.",
    });
  }
  const total = range?.total ?? length;
  if (maxUpload !== null && total !== null && total > maxUpload) throw tooLarge(total, maxUpload);
  if (range !== null) return { range, total, bodyLimit: range.end - range.start + 1 };
  return { range, total, bodyLimit: total ?? maxUpload ?? Infinity };
}

function checkExpectation(request: UploadRequest): void {
  const expect = request.headers.get("expect");
  if (expect === null || expect.toLowerCase() === "100-continue") return;
  throw expectationFailed("This expectation cannot be met.", { supported_expectations: ["100-continue"] });
}

function tooLarge(size: number, limit: number): HttpError {
  return expectationFailed("The file is larger than this share takes.", {
    suggestion: "Send a smaller file, or ask for the limit to be raised.",
    max_file_size: limit,
    your_file_size: size,
  });
}

async function openUpload(
  key: string,
  toward: readonly string[],
  { range, total }: Announcement,
  isKept: boolean,
  uploads: UploadStore,
): Promise<PartialUpload> {
  if (range === null || range.start === 0) return await uploads.start(key, toward, total, isKept);
  const upload = uploads.get(key);
  if (upload === undefined || upload.total !== range.total) throw offsetMismatch(0);
  // A part beyond the current offset is not a retry, so it must not interrupt the writer of the missing part.
  if (range.start <= upload.offset || !upload.isBusy) await upload.interrupt();
  if (upload.isBusy || uploads.get(key) !== upload) throw offsetMismatch(upload.offset);
  if (range.start !== upload.offset) throw offsetMismatch(upload.offset);
  return upload;
}

function offsetMismatch(offset: number): HttpError {
  return new HttpError(409, "upload_offset", `This upload continues at byte ${offset}.`, {
    headers: describeOffset(offset),
  });
}

async function receive(
  request: UploadRequest,
  key: string,
  upload: PartialUpload,
  announced: Announcement,
  { uploads, maxUpload }: PutFileOptions,
): Promise<void> {
  const start = announced.range?.start ?? 0;
  try {
    await upload.append(request.body, start, announced.bodyLimit);
  } catch (error) {
    const isKept = announced.total !== null && error instanceof HttpError;
    if (!isKept && uploads.get(key) === upload) await uploads.discard(key, upload);
    if (announced.total === null && error instanceof HttpError && error.code === "body_too_long") {
      throw new HttpError(413, "file_too_large", `The file is larger than ${maxUpload} bytes.`);
    }
    throw error;
  }
  const came = upload.offset - start;
  if (announced.total !== null && came < announced.bodyLimit) {
    throw new HttpError(400, "upload_cut", "The upload ended before all of it had come.", {
      headers: describeOffset(upload.offset),
    });
  }
}

async function commit(
  request: Pick<Request, "headers">,
  upload: PartialUpload,
  { root, findPlace, check }: PutFileOptions,
): Promise<Completed> {
  try {
    const modified = readModified(request.headers);
    if (modified !== null) fs.futimesSync(upload.fd, modified, modified);
    await sync(upload.fd);
    return await giveName(root, upload, () => {
      const place = findPlace();
      check(place.current);
      return place;
    });
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

/**
 * Finds and checks the destination.
 * @throws HttpError when the file is not allowed there
 */
type FindPlace = () => WriteTarget;

/** A complete file that visitors cannot see. */
interface Hidden {
  readonly fd: number;
  readonly path: string;
}

/**
 * Renames a complete upload that is on disk to its destination. Resolves when the name is on disk as well.
 * @throws the errors from `findTarget` and the system's errors; the upload then stays hidden
 */
async function giveName(root: Root, upload: PartialUpload, findPlace: FindPlace): Promise<Completed> {
  try {
    const named = await rename(root, upload, findPlace);
    upload.finish();
    return { ...named, size: upload.offset };
  } catch (error) {
    if (getErrorCode(error) !== "EXDEV") throw error;
    return await giveNameToCopy(root, upload, findPlace);
  }
}

function rename(root: Root, file: Hidden, findPlace: FindPlace): Promise<Omit<Completed, "size">> {
  return retryLaterWhileHeld(() => renameOnce(root, file, findPlace), { platform: root.platform });
}

async function renameOnce(root: Root, file: Hidden, findPlace: FindPlace): Promise<Omit<Completed, "size">> {
  // Check the destination again. No event loop iteration may separate this from the rename, or two writers could both
  // count as first.
  const place = findPlace();
  const folder = openOrMakeFolder(root, place.parent);
  try {
    if (place.current !== null) fs.fchmodSync(file.fd, place.current.mode);
    const path = `${folder.path}/${place.name}`;
    fs.renameSync(file.path, path);
    const tag = createEntityTag(fs.lstatSync(path));
    await syncFolder(folder.fd);
    return { tag, isNew: place.current === null };
  } finally {
    folder.close();
  }
}

/**
 * Copies an upload to a file system mounted below the share and renames the copy, because a rename cannot cross file
 * systems.
 */
async function giveNameToCopy(root: Root, upload: PartialUpload, findPlace: FindPlace): Promise<Completed> {
  const folder = openOrMakeFolder(root, findPlace().parent);
  try {
    const copy = await copyInto(folder, upload);
    try {
      const named = await rename(root, copy, findPlace);
      await upload.discard();
      return { ...named, size: upload.offset };
    } finally {
      fs.closeSync(copy.fd);
      await removeAside(root, copy.path);
    }
  } finally {
    folder.close();
  }
}

async function copyInto(folder: Folder, { path }: Hidden): Promise<Hidden> {
  const copy = `${folder.path}/${OWN_PREFIX}-copy-${randomBytes(6).toString("hex")}`;
  try {
    await fs.promises.copyFile(path, copy, fs.constants.COPYFILE_EXCL);
    const fd = fs.openSync(copy, fs.constants.O_RDWR | (fs.constants.O_NOFOLLOW ?? 0));
    await sync(fd);
    return { fd, path: copy };
  } catch (error) {
    fs.rmSync(copy, { force: true });
    throw error;
  }
}

/** Waits until an open file is on disk. */
function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}
