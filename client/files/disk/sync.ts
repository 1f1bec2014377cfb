import fs from "node:fs";

/** Waits until what `fd` stands for is on the disk. */
export function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}
