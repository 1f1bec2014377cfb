import fs from "node:fs";
import process from "node:process";
import { HAS_PROC } from "../../../net/file_http/mod.ts";
import { mayHaveShortNames } from "../../../common/platform/mod.ts";

/** What the systems that we run on do differently with what is open and what it is called. */
export interface DiskSystem {
  /** As `process.platform` has it. */
  readonly platform: string;
  /** Whether a descriptor is a path too, `/proc/self/fd/N`, which says where it leads and can be worked on. */
  readonly hasDescriptorPaths: boolean;
  /**
   * The path with links resolved, and on Windows and macOS with each name as the file system itself has it, however it
   * was written. Throws the system's error.
   */
  realPath(path: string): string;
  /** Whether the file system of a folder may find an entry by a short name that is not its own. */
  mayHaveShortNames(folder: string): boolean;
}

/** The system that this runs on. The system's own call is wanted: Node's other one leaves names as they were asked for. */
export const thisSystem: DiskSystem = {
  platform: process.platform,
  hasDescriptorPaths: HAS_PROC,
  realPath: fs.realpathSync.native,
  mayHaveShortNames,
};
