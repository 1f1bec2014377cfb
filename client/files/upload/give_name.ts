import fs from "node:fs";
import { randomBytes } from "node:crypto";
import { createEntityTag } from "../../../net/file_http/mod.ts";
import { retryLaterWhileHeld, syncFolder } from "../../../common/platform/mod.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import { removeAside } from "../disk/remove_aside.ts";
import type { PartialUpload } from "./partial_upload.ts";
import type { Folder, Root } from "../disk/root.ts";
import { OWN_PREFIX } from "../disk/share_path.ts";
import type { Completed } from "./upload_store.ts";
import { openOrMakeFolder, type WriteTarget } from "../disk/write_target.ts";

/**
 * Looks where a file is to go and whether it may.
 * @throws HttpError when it may not
 */
export type FindPlace = () => WriteTarget;

/** A whole file that nobody sees. */
interface Hidden {
  readonly fd: number;
  readonly path: string;
}

/**
 * Gives an upload that is whole and on the disk its name. Resolves when the name is on the disk, too.
 * @throws what `findPlace` throws, and the system's errors; the upload stays hidden then
 */
export async function giveName(root: Root, upload: PartialUpload, findPlace: FindPlace): Promise<Completed> {
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
export function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}
