import fs from "node:fs";

/** Files and folders at `folder` and below that this process has open; other tests of the same process have theirs elsewhere. */
export function listOpen(folder: string): string[] {
  return fs.readdirSync("/proc/self/fd").map((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`, { encoding: "utf8" });
    } catch {
      // The one that this very listing was read through.
      return "";
    }
  }).filter((file) => file.startsWith(folder));
}
