import fs from "node:fs";
import path from "node:path";

/** Folder watch callbacks. */
export interface WatchOptions {
  /** Receives the changed path relative to the folder, with forward slashes; "" when any path can have changed. */
  onChange(name: string): void;
  /** Receives the error when the system cannot watch the folder. A new folder with that name starts another attempt. */
  onError(error: unknown): void;
}

/** Interval at which a check makes sure that the name still belongs to the watched folder. */
const LOOK_MS = 500;

/**
 * Watches a folder and its subfolders until the caller closes the watch. The system watches a folder, not its name.
 * When a build deletes and creates the folder, this function watches the new one and reports a change.
 */
export function watchFolder(folder: string, { onChange, onError }: WatchOptions): { close(): void } {
  let watched = identify(folder);
  let watcher = open();
  const timer = setInterval(look, LOOK_MS);

  function look(): void {
    const there = identify(folder);
    if (there === watched) return;
    release();
    watched = there;
    if (there !== null) watcher = open();
    // The new folder's entries changed before the watch began.
    onChange("");
  }

  /** Ends the watch before another one with that name starts, because a late end can stop both. */
  function release(): void {
    watcher?.close();
    watcher = watched = null;
  }

  function open(): fs.FSWatcher | null {
    try {
      const opened = fs.watch(folder, { recursive: true }, (_, name) => notice(String(name ?? "")));
      // Deno throws some errors that Node emits, and the reverse.
      opened.on("error", onError);
      return opened;
    } catch (error) {
      onError(error);
      return null;
    }
  }

  function notice(name: string): void {
    onChange(name.replaceAll(path.sep, "/"));
    if (name !== "") return;
    // The folder itself changed: a new folder with that name can even have the same inode number.
    release();
    look();
  }

  return {
    close() {
      clearInterval(timer);
      watcher?.close();
    },
  };
}

/** Returns a string that identifies a folder; null when it is missing or not readable. */
function identify(folder: string): string | null {
  try {
    const { dev, ino, birthtimeMs } = fs.statSync(folder);
    return `${dev} ${ino} ${birthtimeMs}`;
  } catch {
    return null;
  }
}
