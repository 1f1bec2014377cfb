import fs from "node:fs";
import process from "node:process";
import { HAS_PROC } from "../../../net/file_http/mod.ts";
import { mayHaveShortNames } from "../../../common/platform/mod.ts";

/** Differences between operating systems in open files and file names. */
export interface DiskSystem {
  /** The value of `process.platform`. */
  readonly platform: string;
  /** Whether a descriptor also has a path, `/proc/self/fd/N`, that can be resolved and used in file operations. */
  readonly hasDescriptorPaths: boolean;
  /** Resolves links; on Windows and macOS it also replaces each name by the stored name. Throws the system's error. */
  realPath(path: string): string;
  /** Checks whether the folder's file system may find an entry by a short alias. */
  mayHaveShortNames(folder: string): boolean;
}

/**
 * The current system. Only the native `realpath` returns stored names; Node's own implementation keeps the requested
 * names.
 */
export const thisSystem: DiskSystem = {
  platform: process.platform,
  hasDescriptorPaths: HAS_PROC,
  realPath: fs.realpathSync.native,
  mayHaveShortNames,
};
