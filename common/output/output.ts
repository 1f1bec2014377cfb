import process from "node:process";
import { writeText } from "./write_text.ts";

/**
 * Takes bytes for standard output or error. Resolves when the system has them all, however long its reader takes, and
 * rejects when it takes no more. Until then they must not change.
 */
export type Output = (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Standard output and error of this process, written by the runtime's driver. */
export function openOutput(name: "stdout" | "stderr"): Output {
  if (process.versions.deno === undefined) return (bytes) => writeText(process[name], bytes);
  return async (bytes) => await (await import("./deno.ts")).writeOutput(name, bytes);
}
