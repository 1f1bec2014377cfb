import { constants } from "node:fs";

// Calls that Deno runs faster than its `node:fs` module. Every caller has a portable fallback.

/** Returns the metadata of an entry, or null when the entry does not exist. Costs half as much as `fs.lstatSync`. */
export function lookAt(path: string): Looked | null {
  try {
    const { isFile, isDirectory, isSymlink, size, mtime } = Deno.lstatSync(path);
    return { isFile, isDirectory, isSymlink, size, modified: mtime?.getTime() ?? 0 };
  } catch {
    return null;
  }
}

/** Metadata of an entry, from `lstat`. */
export interface Looked {
  isFile: boolean;
  isDirectory: boolean;
  isSymlink: boolean;
  size: number;
  /** Milliseconds since the epoch. */
  modified: number;
}

/** Operations relative to an open folder `fd`. Links are not followed. */
export interface FolderCalls {
  /** Like {@link lookAt}, relative to the folder. */
  look(fd: number, name: string): Looked | null;
  /**
   * Opens a file and fills `into` from its beginning. Returns the number of bytes read, or null on any failure. Pipes,
   * terminals and other files without a read position return null.
   */
  read(fd: number, name: string, into: Uint8Array<ArrayBuffer>): number | null;
}

/**
 * Returns system calls that work on an open folder, or null where they are unavailable: on other systems, without the
 * permission for the C library (never requested here), or in a sandbox that refuses the calls. The calls cost a fifth
 * of the path over `/proc/self/fd`. With 10,000 small files a listing takes 45 ms instead of 79, and a zip 105 ms
 * instead of 280 (medians, two shared cores). Without the calls a compressed listing would miss its budget of 60 ms.
 */
export function openFolderCalls(os: string = Deno.build.os): FolderCalls | null {
  if (os !== "linux" || Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return null;
  try {
    const calls = loadFolderCalls();
    // The folder is irrelevant for an absolute path.
    return calls.look(-1, "/")?.isDirectory ? calls : null;
  } catch {
    return null;
  }
}

/** Offsets in `struct statx`, identical on every processor (statx(2)). */
const STATX = { bytes: 256, mode: 28, size: 40, seconds: 112, nanoseconds: 120 };
/** STATX_TYPE, STATX_MTIME and STATX_SIZE. */
const WANTED = 0x1 | 0x40 | 0x200;
/** AT_SYMLINK_NOFOLLOW and AT_NO_AUTOMOUNT, as lstat(2) uses. */
const NO_FOLLOW = 0x100 | 0x800;
const TYPE_MASK = 0o170000;
const [DIRECTORY, FILE, LINK] = [0o040000, 0o100000, 0o120000];
const CLOSE_ON_EXEC = 0o2000000;
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW | CLOSE_ON_EXEC;
/** Size of the name buffer with the NUL. File systems allow names up to 255 bytes in most cases. */
const MAX_NAME = 4096;

function loadFolderCalls(): FolderCalls {
  const { symbols: { statx, openat, pread, close } } = Deno.dlopen("libc.so.6", {
    statx: { parameters: ["i32", "buffer", "i32", "u32", "buffer"], result: "i32" },
    openat: { parameters: ["i32", "buffer", "i32", "u32"], result: "i32" },
    pread: { parameters: ["i32", "buffer", "usize", "i64"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
  });
  const encodeName = createNameEncoder();
  const result = new DataView(new ArrayBuffer(STATX.bytes));
  const bytes = new Uint8Array(result.buffer);

  function look(fd: number, text: string): Looked | null {
    const name = encodeName(text);
    return name !== null && statx(fd, name, NO_FOLLOW, WANTED, bytes) === 0 ? describe(result) : null;
  }

  function read(folder: number, text: string, into: Uint8Array<ArrayBuffer>): number | null {
    const name = encodeName(text);
    const fd = name === null ? -1 : openat(folder, name, READ, 0);
    if (fd < 0) return null;
    const count = readOpened(fd, into);
    close(fd);
    return count;
  }

  function readOpened(fd: number, into: Uint8Array<ArrayBuffer>): number | null {
    for (let filled = 0;;) {
      const count = Number(pread(fd, into.subarray(filled), BigInt(into.length - filled), BigInt(filled)));
      if (count < 0) return null;
      filled += count;
      // Some file systems return fewer bytes than requested.
      if (count === 0 || filled === into.length) return filled;
    }
  }

  return { look, read };
}

/**
 * Returns a function that writes names into one reused buffer for the C library. The function returns null for a name
 * that exceeds {@link MAX_NAME}.
 */
function createNameEncoder(): (name: string) => Uint8Array<ArrayBuffer> | null {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(MAX_NAME);
  const room = bytes.subarray(0, -1);
  return (name) => {
    const { read, written } = encoder.encodeInto(name, room);
    bytes[written] = 0;
    return read === name.length ? bytes : null;
  };
}

function describe(statx: DataView): Looked {
  const type = statx.getUint16(STATX.mode, true) & TYPE_MASK;
  const nanoseconds = statx.getUint32(STATX.nanoseconds, true);
  return {
    isFile: type === FILE,
    isDirectory: type === DIRECTORY,
    isSymlink: type === LINK,
    size: Number(statx.getBigUint64(STATX.size, true)),
    modified: Number(statx.getBigInt64(STATX.seconds, true)) * 1000 + Math.floor(nanoseconds / 1e6),
  };
}

/** Returns the unsorted names in a folder. Costs half as much as `fs.readdirSync`. */
export function readNames(path: string): string[] {
  return Array.from(Deno.readDirSync(path), ({ name }) => name);
}

/** Implements `getStamp` for Deno. */
export function getDenoStamp(path: string): string | null {
  try {
    const { dev, ino, size, mtime, ctime } = Deno.statSync(path);
    return `${dev} ${ino} ${size} ${mtime?.getTime()} ${ctime?.getTime()}`;
  } catch {
    return null;
  }
}
