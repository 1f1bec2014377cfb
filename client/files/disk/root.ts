import fs, { constants } from "node:fs";
import path from "node:path";
import { type FileSource, readFully } from "../../../net/file_http/mod.ts";
import { isPlainName, isShortName } from "../../../common/platform/mod.ts";
import { getErrorCode, noSuchEntry } from "./fs_error.ts";
import { type EntryLook, systemLook } from "./look.ts";
import { findOwnName } from "./own_name.ts";
import { isMaskedName, OWN_PREFIX } from "./share_path.ts";
import { type DiskSystem, thisSystem } from "./system.ts";

/** A file below the shared root, open for reading. The opener closes it. */
export interface OpenFile extends FileSource {
  readonly kind: "file";
  /** The real path as names below the root, with symbolic links resolved. */
  readonly segments: readonly string[];
}

/** An open folder below the shared root. A rename does not change the folder that the handle refers to. */
export interface Folder {
  readonly kind: "folder";
  /** A path prefix: append the name of an entry to work on that entry. */
  readonly path: string;
  readonly fd: number;
  /** The real path as names below the root, with symbolic links resolved. */
  readonly segments: readonly string[];
  close(): void;
}

/**
 * The shared folder. All file access goes through this interface, which keeps it inside the folder.
 *
 * Each path is checked after it was opened, by the real path of the open file. A symbolic link that is swapped between
 * check and use therefore has no effect. On Linux, operations in a folder are relative to its descriptor
 * (`/proc/self/fd/N/name`). Other systems use the checked real path, which narrows the window for such a swap but
 * cannot close it.
 */
export interface Root {
  /** The name of the shared folder or file, for display. */
  readonly name: string;
  /** Real path of the folder. */
  readonly path: string;
  /** The only visible name, when a single file is shared. */
  readonly only: string | null;
  /** The operating system, as in `process.platform`. */
  readonly platform: string;
  /** Whether visitors can write dot files, which are stored under masked names. */
  readonly masksDots: boolean;
  /**
   * Opens a file or folder for reading. Throws 404 for a missing, hidden, special or outside entry.
   * @param areSeen whether all names come from an earlier listing or open, so that they are the stored names. A check
   * of names may read a whole folder, which is too slow per entry. Default false.
   */
  open(segments: readonly string[], areSeen?: boolean): OpenFile | Folder;
  /** Opens a folder. Throws 404 like {@link open}, and also for a file. */
  openFolder(segments: readonly string[], areSeen?: boolean): Folder;
  /** Opens an internal folder in `base` that visitors cannot see. */
  openOwnFolder(base: Folder, name: string): Folder;
  /** Checks whether the entry with this name is visible. */
  isVisible(name: string, segments: readonly string[]): boolean;
  /**
   * Checks whether the stored name of a requested entry is visible, because the file system may find a hidden entry by
   * another name. Returns true for a visible name without an entry.
   */
  isSeenBy(folder: Folder, name: string): boolean;
  /**
   * Opens a file from a listing of a folder that is still open; cheaper than {@link open}. Throws like {@link open}.
   */
  openEntry(folder: Folder, name: string): OpenFile;
  /**
   * Fills `into` from the beginning of a file that was listed in a folder which is still open, and returns the number
   * of bytes read. This is the cheapest way to read a small file. Throws like {@link open}.
   */
  readEntry(folder: Folder, name: string, into: Uint8Array<ArrayBuffer>): number;
  /** Returns the unsorted names in a folder, including hidden names. */
  listNames(folder: Folder): string[];
  /** Returns the metadata of a listed entry with links followed; null when it is special, dangling or outside. */
  statEntry(folder: Folder, name: string): Entry | null;
}

/** An entry in a folder, with links followed. */
export interface Entry {
  readonly kind: "file" | "folder";
  /** Whether the path goes through a symbolic link. */
  readonly isLink: boolean;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/** The shared path and its visible names. */
export interface RootOptions {
  /** A folder, or a single file. */
  path: string;
  /** Show names that begin with a dot. */
  hidden: boolean;
  /** Visible names that begin with a dot, even without `hidden`. */
  shown?: readonly string[];
  /** Let visitors reach dot files with masked names. Default false. */
  masksDots?: boolean;
  /** The implementation for folder access. Default the fastest. */
  look?: EntryLook;
  /** The operating system. Default this system. */
  system?: DiskSystem;
}

// Windows lacks this flag, and opening a file cannot block there.
const NO_BLOCK = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const READ_FILE = constants.O_RDONLY | NO_BLOCK;
const READ_FOLDER = READ_FILE | (constants.O_DIRECTORY ?? 0);

/**
 * Opens the folder or file to share.
 * @throws the system's error when it is missing, TypeError when it is neither a file nor a folder
 */
export function openRoot(options: RootOptions): Root {
  const { realPath } = options.system ?? thisSystem;
  const real = realPath(options.path);
  const stat = fs.statSync(real);
  if (stat.isDirectory()) return new SharedRoot(real, null, options);
  if (!stat.isFile()) throw new TypeError(`cannot share "${options.path}": it is neither a file nor a folder`);
  return new SharedRoot(path.dirname(real), path.basename(real), options);
}

class SharedRoot implements Root {
  readonly name: string;
  readonly path: string;
  readonly only: string | null;
  readonly platform: string;
  readonly masksDots: boolean;
  readonly #prefix: string;
  readonly #hidden: boolean;
  readonly #shown: ReadonlySet<string>;
  readonly #look: EntryLook;
  readonly #system: DiskSystem;

  constructor(realPath: string, only: string | null, options: RootOptions) {
    const { hidden, shown = [], masksDots = false, look = systemLook, system = thisSystem } = options;
    this.path = realPath;
    this.only = only;
    this.name = only ?? (path.basename(realPath) || realPath);
    this.#prefix = realPath.endsWith(path.sep) ? realPath : realPath + path.sep;
    this.#hidden = hidden;
    this.#shown = new Set(shown);
    this.#look = look;
    this.#system = system;
    this.platform = system.platform;
    this.masksDots = masksDots;
  }

  open(segments: readonly string[], areSeen = false): OpenFile | Folder {
    const full = this.#find(segments, areSeen);
    // Stat before opening: opening a FIFO or a device can already have a side effect.
    const stat = fs.statSync(full, { throwIfNoEntry: false });
    if (stat === undefined) throw noSuchEntry();
    if (stat.isDirectory()) return this.#openFolder(full);
    if (!stat.isFile()) throw noSuchEntry();
    return this.#openFile(full);
  }

  openFolder(segments: readonly string[], areSeen = false): Folder {
    return this.#openFolder(this.#find(segments, areSeen));
  }

  openOwnFolder(base: Folder, name: string): Folder {
    const full = `${base.path}/${name}`;
    const fd = fs.openSync(full, READ_FOLDER | (constants.O_NOFOLLOW ?? 0));
    return { kind: "folder", fd, path: this.#hold(fd, full), segments: [...base.segments, name], close: closeOnce(fd) };
  }

  isVisible(name: string, segments: readonly string[]): boolean {
    // Reject device and stream names before any disk access, whichever route the request used.
    if (this.#system.platform === "win32" && !isPlainName(name, "win32")) return false;
    // The owner chose the single shared file by name, so a leading dot stays visible.
    if (this.only !== null) return segments.length === 0 && name === this.only;
    if (this.masksDots && isMaskedName(name)) return true;
    if (name.startsWith(".") && !this.#hidden && !this.#shown.has(name)) return false;
    return !name.toLowerCase().startsWith(OWN_PREFIX);
  }

  isSeenBy(folder: Folder, name: string): boolean {
    const own = findOwnName(folder.path, name, this.#system, () => this.listNames(folder));
    return own !== null && this.isVisible(own, folder.segments);
  }

  statEntry(folder: Folder, name: string): Entry | null {
    const looked = this.#look.lookIn(folder, name);
    if (looked === null) return null;
    if (looked.isSymlink) return this.#statLink(folder, name);
    const { isDirectory, isFile, size, modified } = looked;
    return isDirectory || isFile ? { kind: isDirectory ? "folder" : "file", isLink: false, size, modified } : null;
  }

  listNames(folder: Folder): string[] {
    return this.#look.listNames(folder);
  }

  openEntry(folder: Folder, name: string): OpenFile {
    const segments = [...folder.segments, name];
    const fd = this.#system.hasDescriptorPaths ? openPlain(`${folder.path}/${name}`) : null;
    if (fd === null) return asFile(this.open(segments, true));
    const stat = fs.fstatSync(fd);
    const close = closeOnce(fd);
    if (stat.isFile()) return { kind: "file", fd, stat, segments, close };
    close();
    throw noSuchEntry();
  }

  readEntry(folder: Folder, name: string, into: Uint8Array<ArrayBuffer>): number {
    // The entry was a regular file when listed. A replacement cannot be a link, because the open would fail, and a pipe
    // or terminal cannot be read at a position.
    const count = this.#look.readIn(folder, name, into);
    if (count !== null) return count;
    const file = this.openEntry(folder, name);
    try {
      return readFully(file.fd, into, 0);
    } finally {
      file.close();
    }
  }

  #statLink(folder: Folder, name: string): Entry | null {
    try {
      const opened = this.open([...folder.segments, name], true);
      try {
        const { size, mtimeMs } = fs.fstatSync(opened.fd);
        return { kind: opened.kind, isLink: true, size, modified: Math.trunc(mtimeMs) };
      } finally {
        opened.close();
      }
    } catch {
      // Visitors get "missing" for a dangling, outside, special or forbidden entry.
      return null;
    }
  }

  /** Returns the path for a requested name. Throws 404 for a name that is hidden or differs from the stored name. */
  #find(segments: readonly string[], areSeen: boolean): string {
    this.#checkVisible(segments);
    // Other systems check the real path after the open, which already uses stored names.
    if (!areSeen && this.#system.hasDescriptorPaths && segments.some(isShortName)) this.#checkShortNames(segments);
    return this.#join(segments);
  }

  #checkShortNames(segments: readonly string[]): void {
    for (const [depth, name] of segments.entries()) {
      if (!isShortName(name)) continue;
      const folder = this.#join(segments.slice(0, depth));
      const listNames = () => this.#look.listNames({ fd: -1, path: folder });
      if (findOwnName(folder, name, this.#system, listNames) === null) throw noSuchEntry();
    }
  }

  #join(segments: readonly string[]): string {
    return segments.length === 0 ? this.path : this.#prefix + segments.join(path.sep);
  }

  #checkVisible(segments: readonly string[]): void {
    for (let depth = 0; depth < segments.length; depth++) {
      if (!this.isVisible(segments[depth], segments.slice(0, depth))) throw noSuchEntry();
    }
  }

  #openFile(full: string): OpenFile {
    const fd = fs.openSync(full, READ_FILE);
    try {
      const [, segments] = this.#locate(fd, full);
      const stat = fs.fstatSync(fd);
      if (!stat.isFile()) throw noSuchEntry();
      return { kind: "file", fd, stat, segments, close: closeOnce(fd) };
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  #openFolder(full: string): Folder {
    // Windows has no flag that opens only folders, so the open file is checked.
    const fd = fs.openSync(full, this.#system.platform === "win32" ? READ_FILE : READ_FOLDER);
    try {
      const [realPath, segments] = this.#locate(fd, full);
      if (!fs.fstatSync(fd).isDirectory()) throw noFolder(full);
      return { kind: "folder", fd, path: this.#hold(fd, realPath), segments, close: closeOnce(fd) };
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  /** Returns the path for work in an open folder. */
  #hold(fd: number, realPath: string): string {
    return this.#system.hasDescriptorPaths ? `/proc/self/fd/${fd}` : realPath;
  }

  /** Returns the real path of an open file, also as names below the root. Throws 404 for a hidden or outside path. */
  #locate(fd: number, full: string): [string, string[]] {
    const realPath = this.#system.hasDescriptorPaths
      ? fs.readlinkSync(`/proc/self/fd/${fd}`)
      : getSamePath(fd, full, this.#system);
    if (realPath === this.path) return [realPath, []];
    if (!realPath.startsWith(this.#prefix)) throw noSuchEntry();
    const segments = realPath.slice(this.#prefix.length).split(path.sep);
    this.#checkVisible(segments);
    return [realPath, segments];
  }
}

/**
 * Opens a file unless it is a link; returns null for a link. Nothing on the path needs resolving, so the real path is
 * known.
 */
function openPlain(path: string): number | null {
  try {
    return fs.openSync(path, READ_FILE | constants.O_NOFOLLOW);
  } catch (error) {
    if (getErrorCode(error) === "ELOOP") return null;
    throw error;
  }
}

function asFile(opened: OpenFile | Folder): OpenFile {
  if (opened.kind === "file") return opened;
  opened.close();
  throw noSuchEntry();
}

/** Creates the error that systems with a folder-only flag return for a file. */
function noFolder(full: string): Error {
  return Object.assign(new Error(`ENOTDIR: not a directory, open '${full}'`), { code: "ENOTDIR" });
}

/** Returns the real path of `full` if `fd` refers to it. */
function getSamePath(fd: number, full: string, system: DiskSystem): string {
  const realPath = system.realPath(full);
  // File ids on Windows exceed the precision of a double.
  const [opened, there] = [fs.fstatSync(fd, { bigint: true }), fs.lstatSync(realPath, { bigint: true })];
  if (opened.ino !== there.ino || opened.dev !== there.dev) throw noSuchEntry();
  return realPath;
}

/** Returns a close function that is safe to call twice. The system may reuse a closed descriptor for another file. */
function closeOnce(fd: number): () => void {
  let isOpen = true;
  return () => {
    if (isOpen) fs.closeSync(fd);
    isOpen = false;
  };
}
