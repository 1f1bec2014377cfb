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

/** Where a file that is sent goes, and under which conditions. */
export interface PutFileOptions {
  root: Root;
  uploads: UploadStore;
  /** Bytes of the largest file taken; null for no limit. */
  maxUpload: number | null;
  /** Looks where the file is to go; asked before anything is read, and once more right before it gets its name. */
  findPlace(): WriteTarget;
  /**
   * Told what is there before anything is read, and once more right before the file gets its name. Throws when the
   * request is not for that.
   */
  check(current: Representation | null): void;
  /** Whether what came of an upload that is complete is what a new one would replace, so that it need not be sent. */
  isStillThere(done: Completed, place: WriteTarget): boolean;
}

/** A request with a file, or with a part of one: its body is the file, and nothing else of it counts. */
export type UploadRequest = Pick<Request, "headers" | "body">;

/**
 * Answers PUT: a whole file, or with Content-Range the next part of one (RFC 9110, section 14.5).
 * The file appears under its name when all of it has come and is on the disk, and not before.
 * What came of an upload of announced length that is cut off is kept, to be continued.
 * @throws HttpError 409 with `upload-offset` when a part does not begin where the last one ended
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
  // The sender never heard that its upload is complete and sends it again: it is told now.
  if (done !== undefined && done.size === announced.total && options.isStillThere(done, place)) {
    return describeDone(done, modified !== null);
  }
  options.check(place.current);
  // Only who sent an id and a part can find it again after a restart.
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
  // What clients of ownCloud and its kin want to hear, or else they send the time again.
  if (isDated) headers["x-oc-mtime"] = "accepted";
  return new Response(null, { status: isNew ? 201 : 200, headers });
}

/**
 * When the sender's file was last changed, in seconds since the epoch; null when it does not tell. `X-OC-Mtime` is
 * what rclone and ownCloud's clients send.
 */
function readModified(headers: Headers): number | null {
  const seconds = /^\d{1,11}(?:\.\d{1,9})?$/.exec(headers.get("x-oc-mtime")?.trim() ?? "")?.[0];
  return seconds === undefined ? parseHttpDate(headers.get("last-modified")) : Number(seconds);
}

/**
 * The name of an upload in the store. A path never holds NUL, so no two can be confused.
 * @throws HttpError 400 `bad_upload_id`
 */
export function createUploadKey(segments: readonly string[], id: string): string {
  if (!/^[\w-]{0,64}$/.test(id)) {
    throw new HttpError(400, "bad_upload_id", "An upload id has at most 64 letters, digits, - and _.");
  }
  return `${segments.join("/")}\0${id}`;
}

/** Header that tells how much of an upload is here. */
export function describeOffset(offset: number): Record<string, string> {
  return { "upload-offset": String(offset), "cache-control": "no-store" };
}

interface Announcement {
  /** Which part comes; null when it is the whole. */
  range: ContentRange | null;
  /** Length of the whole file; null when unknown. */
  total: number | null;
  /** Bytes this body may have. */
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
  // A part from beyond what is here is no retry: whoever sends the part in between is left in peace.
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
 * Looks where a file is to go and whether it may.
 * @throws HttpError when it may not
 */
type FindPlace = () => WriteTarget;

/** A whole file that nobody sees. */
interface Hidden {
  readonly fd: number;
  readonly path: string;
}

/**
 * Gives an upload that is whole and on the disk its name. Resolves when the name is on the disk, too.
 * @throws what `findPlace` throws, and the system's errors; the upload stays hidden then
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
  // Looked at again, and no turn of the event loop between this and the rename: two writers cannot both be first.
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

/** A file system that is mounted below the share takes no file from another one: it gets a copy, which is renamed. */
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

/** Waits until an open file is on the disk. */
function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}
