import { createHash } from "node:crypto";
import { readPieces } from "../../../net/file_http/mod.ts";
import type { OpenFile } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";

/** Returns the file's SHA-256 in hexadecimal. Throws the reason of `signal` when it is aborted meanwhile. */
export async function hashFile(file: OpenFile, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  if (file.content !== undefined) return hash.update(file.content).digest("hex");
  const slice = new TimeSlice();
  for await (const piece of readPieces(file, 0, file.stat.size)) {
    hash.update(piece);
    if (slice.isOver) await slice.next(signal);
  }
  return hash.digest("hex");
}
