import fs from "node:fs";
import path from "node:path";

/** Who hears of changes in a folder. */
export interface WatchOptions {
  /** Told the path of what changed, below the folder and with forward slashes; "" when it may be anything. */
  onChange(name: string): void;
  /** Told when the folder cannot be watched. It is tried again once another folder has its name. */
  onError(error: unknown): void;
}

/** How often it is looked whether the folder is still the one that is watched, in milliseconds. */
const LOOK_MS = 500;

/**
 * Watches a folder and all below it until it is closed. The system watches a folder and not its name: when it is
 * deleted or moved away and made again, as builds do, the new one is watched from then on and told as a change.
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
    // What is in it, and came before it was watched, is not known.
    onChange("");
  }

  /** Ends the watch at once: one that ends while another one of that name runs can take it with it. */
  function release(): void {
    watcher?.close();
    watcher = watched = null;
  }

  function open(): fs.FSWatcher | null {
    try {
      const opened = fs.watch(folder, { recursive: true }, (_, name) => notice(String(name ?? "")));
      // Node says here what Deno throws, and the other way round.
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
    // The folder itself: it may have gone, and what has its name by now can even have its number.
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

/** Tells a folder from any other of that name; null when there is none that we may see. */
function identify(folder: string): string | null {
  try {
    const { dev, ino, birthtimeMs } = fs.statSync(folder);
    return `${dev} ${ino} ${birthtimeMs}`;
  } catch {
    return null;
  }
}
