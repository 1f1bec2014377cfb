import fs, { constants } from "node:fs";
import path from "node:path";
import { type FileSource, readFully } from "../../../net/file_http/mod.ts";
import { isPlainName, isShortName } from "../../../common/platform/mod.ts";
import { getErrorCode, noSuchEntry } from "./fs_error.ts";
import { type EntryLook, systemLook } from "./look.ts";
import { findOwnName } from "./own_name.ts";
import { isMaskedName, OWN_PREFIX } from "./share_path.ts";
import { type DiskSystem, thisSystem } from "./system.ts";

/** A file opened for reading below the shared root. Whoever opened it closes it. */
export interface OpenFile extends FileSource {
  readonly kind: "file";
  /** Where it really is, as names below the root: symbolic links on the way are resolved. */
  readonly segments: readonly string[];
}

/** A folder held open below the shared root, so that it stays the same folder whatever happens to its name. */
export interface Folder {
  readonly kind: "folder";
  /** Joined with the name of an entry, the path to work on that entry with. */
  readonly path: string;
  readonly fd: number;
  /** Where it really is, as names below the root: the way through symbolic links is resolved. */
  readonly segments: readonly string[];
  close(): void;
}

/**
 * The shared folder. Everything that touches a file goes through here, and nothing here leaves the folder.
 *
 * A path is checked after it was opened, by asking the system where the opened thing is: a symbolic link that is
 * swapped between a check and its use changes nothing. On Linux what is done in a folder is done relative to the
 * descriptor of that folder (`/proc/self/fd/N/name`); elsewhere by its real path, checked before use, which narrows
 * the window for such a swap but cannot close it.
 */
export interface Root {
  /** Name of the shared folder or file, for people. */
  readonly name: string;
  /** Real path of the folder. */
  readonly path: string;
  /** The one name that may be seen, when a single file is shared. */
  readonly only: string | null;
  /** The system that it lies on, as `process.platform` has it. */
  readonly platform: string;
  /** Whether visitors can write dot files, which get masked names. */
  readonly masksDots: boolean;
  /**
   * Opens what is there to be read. Throws 404 for missing, hidden, special or outside.
   * @param areSeen whether all the names were read from folders or opened before, and so are known to be the entries'
   * own: asking can take a look at a whole folder, which is too much to be done for each of its entries. Default false.
   */
  open(segments: readonly string[], areSeen?: boolean): OpenFile | Folder;
  /** Opens a folder. Throws 404 as {@link open} does, for a file too. */
  openFolder(segments: readonly string[], areSeen?: boolean): Folder;
  /** Opens a folder of the share's own that no visitor sees, in `base`. */
  openOwnFolder(base: Folder, name: string): Folder;
  /** Whether an entry of that name is shown. */
  isVisible(name: string, segments: readonly string[]): boolean;
  /**
   * Whether what a visitor has named in a folder is shown by the name that it really has: the file system may know a
   * hidden entry by another name. True for a visible name that nothing has.
   */
  isSeenBy(folder: Folder, name: string): boolean;
  /** Opens a file that was seen in a folder which is still open: cheaper than {@link open}. Throws as that does. */
  openEntry(folder: Folder, name: string): OpenFile;
  /**
   * Reads the beginning of a file that was seen in a folder which is still open, as much as `into` takes, and returns
   * how many bytes came. The cheapest way to a small file. Throws as {@link open} does.
   */
  readEntry(folder: Folder, name: string, into: Uint8Array<ArrayBuffer>): number;
  /** The names in a folder, in no order, those that are not shown among them. */
  listNames(folder: Folder): string[];
  /**
   * What `name`, which was seen in `folder`, is once links are followed, or null when it is special, dangling or leads
   * outside.
   */
  statEntry(folder: Folder, name: string): Entry | null;
}

/** An entry of a folder with links followed. */
export interface Entry {
  readonly kind: "file" | "folder";
  /** Whether it is reached through a symbolic link. */
  readonly isLink: boolean;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/** What is shared, and which of its names. */
export interface RootOptions {
  /** A folder, or a single file. */
  path: string;
  /** Show names that begin with a dot. */
  hidden: boolean;
  /** Names that begin with a dot and are shown all the same. */
  shown?: readonly string[];
  /** Let visitors reach dot files that have masked names. Default false. */
  masksDots?: boolean;
  /** How folders are looked into. Default the quickest way there is. */
  look?: EntryLook;
  /** What it runs on. Default this system. */
  system?: DiskSystem;
}

// Not there on Windows, where opening cannot block either.
const NO_BLOCK = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const READ_FILE = constants.O_RDONLY | NO_BLOCK;
const READ_FOLDER = READ_FILE | (constants.O_DIRECTORY ?? 0);

/**
 * Opens what is to be shared.
 * @throws the system's error when it is not there, TypeError when it is neither a file nor a folder
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
    // Looked at before it is opened: opening a FIFO or a device can already have an effect.
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
    // What asks may have come by any way: a device or a stream is never looked at.
    if (this.#system.platform === "win32" && !isPlainName(name, "win32")) return false;
    // Whoever shares a single file has named it, dot and all.
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
    // It was a file when it was seen. What has been put in its place since then is no link, or it would not have been
    // opened, and can only be read at a position if it is a file: a pipe or a terminal has none.
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
      // Dangling, outside, special or not permitted: for a visitor it is not there.
      return null;
    }
  }

  /** The path of what a visitor has named. Throws 404 for a name that is not shown, or is not the entry's own. */
  #find(segments: readonly string[], areSeen: boolean): string {
    this.#checkVisible(segments);
    // Elsewhere the real path, which is looked at once it is open, is in names that are the entries' own.
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
    // Windows cannot be asked for a folder and nothing else: what was opened is looked at.
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

  /** The path to work in an open folder with. */
  #hold(fd: number, realPath: string): string {
    return this.#system.hasDescriptorPaths ? `/proc/self/fd/${fd}` : realPath;
  }

  /** Where the opened thing is, as a path and as names below the root. Throws 404 when that is not to be seen. */
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

/** Opens what is no link; null when it is one. Nothing is to be resolved on the way, so it is where it seems to be. */
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

/** What systems say that can be asked for a folder and nothing else. */
function noFolder(full: string): Error {
  return Object.assign(new Error(`ENOTDIR: not a directory, open '${full}'`), { code: "ENOTDIR" });
}

/** The real path of `full`, if that is what `fd` has open. */
function getSamePath(fd: number, full: string, system: DiskSystem): string {
  const realPath = system.realPath(full);
  // Numbers of files on Windows are longer than a double keeps apart.
  const [opened, there] = [fs.fstatSync(fd, { bigint: true }), fs.lstatSync(realPath, { bigint: true })];
  if (opened.ino !== there.ino || opened.dev !== there.dev) throw noSuchEntry();
  return realPath;
}

/** A close that can be called again: a number closed twice could by then be someone else's file. */
function closeOnce(fd: number): () => void {
  let isOpen = true;
  return () => {
    if (isOpen) fs.closeSync(fd);
    isOpen = false;
  };
}
