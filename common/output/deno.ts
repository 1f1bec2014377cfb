/**
 * Writes to standard output or error. Deno's node:process and node:fs write synchronously, so a paused reader, such as
 * a terminal after Ctrl+S, would stop the whole process.
 */
export async function writeOutput(name: "stdout" | "stderr", bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await Deno[name].write(bytes.subarray(at));
}
