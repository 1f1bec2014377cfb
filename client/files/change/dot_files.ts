import fs from "node:fs";
import { removeAside } from "../disk/remove_aside.ts";
import type { Root } from "../disk/root.ts";

/** Dot files kept at once, and how long after the last write. */
const MAX_DOT_FILES = 1000;
const DOT_FILE_MS = 60 * 60 * 1000;

interface Kept {
  readonly segments: readonly string[];
  writtenAt: number;
}

/**
 * Dot files that visitors wrote while the share shows none. Editors and rsync save to such a file and rename it. Each has
 * a name of the share's own on the disk, so that no visitor can plant a `.bashrc`. One that never gets a visible name is
 * deleted after an hour or when the share ends.
 */
export class DotFiles {
  readonly #root: Root;
  readonly #kept = new Map<string, Kept>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: Root) {
    this.#root = root;
  }

  /** Remembers a file that was written. The oldest is deleted when there are more than 1,000. */
  async note(segments: readonly string[]): Promise<void> {
    const key = segments.join("/");
    this.#kept.delete(key);
    this.#kept.set(key, { segments, writtenAt: Date.now() });
    const [oldest] = this.#kept.values();
    if (this.#kept.size > MAX_DOT_FILES) await this.#remove(oldest);
    if (this.#timer === undefined) this.#schedule();
  }

  #schedule(): void {
    const [oldest] = this.#kept.values();
    this.#timer = oldest === undefined
      ? undefined
      : setTimeout(() => void this.#expire(), oldest.writtenAt + DOT_FILE_MS - Date.now());
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  async #expire(): Promise<void> {
    const due = [...this.#kept.values()].filter(({ writtenAt }) => writtenAt + DOT_FILE_MS <= Date.now());
    for (const file of due) await this.#remove(file);
    this.#schedule();
  }

  async #remove({ segments }: Kept): Promise<void> {
    this.#kept.delete(segments.join("/"));
    const folder = this.#openFolder(segments.slice(0, -1));
    if (folder === null) return;
    try {
      await removeAside(this.#root, `${folder.path}/${segments[segments.length - 1]}`);
    } finally {
      folder.close();
    }
  }

  #openFolder(segments: readonly string[]): ReturnType<Root["openFolder"]> | null {
    try {
      return this.#root.openFolder(segments);
    } catch {
      // The folder was moved or deleted, and the file with it.
      return null;
    }
  }

  /** Deletes all of them. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (!fs.existsSync(this.#root.path)) return;
    for (const file of [...this.#kept.values()]) await this.#remove(file);
  }
}
