import process from "node:process";
import { writeText } from "./write_text.ts";

/**
 * Takes text for standard output or error. Resolves when the system has it all, however long its reader takes, and
 * rejects when it takes no more.
 */
export type Output = (text: string) => Promise<void>;

/** Standard output and error of this process, written by the runtime's driver. */
export function openOutput(name: "stdout" | "stderr"): Output {
  if (process.versions.deno === undefined) return (text) => writeText(process[name], text);
  return async (text) => await (await import("./deno.ts")).writeOutput(name, text);
}
