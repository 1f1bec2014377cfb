/**
 * Writes to standard output or error. Deno's node:process and node:fs do that synchronously: a reader that pauses, such
 * as a terminal after Ctrl+S, would stop everything else this process does.
 */
export async function writeOutput(name: "stdout" | "stderr", bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await Deno[name].write(bytes.subarray(at));
}
