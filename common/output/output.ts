import process from "node:process";
import { writeText } from "./write_text.ts";

/**
 * Writes bytes to standard output or error. Resolves when the system has all, however slow the reader is, and rejects
 * when it cannot take more. The bytes must not change before that.
 */
export type Output = (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Opens this process's standard output or error with the runtime's driver. */
export function openOutput(name: "stdout" | "stderr"): Output {
  if (process.versions.deno === undefined) return (bytes) => writeText(process[name], bytes);
  return async (bytes) => await (await import("./deno.ts")).writeOutput(name, bytes);
}
