import { fileURLToPath } from "node:url";
import { runTool } from "./run_tool.ts";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What belongs to the program: not its tests, nor what runs them, nor what is made from it. */
const PARTS = ["client", "common", "protocol", "server", "cli.ts", "server.ts", "mod.ts"];

/**
 * The files of the program itself, by their paths from the project's folder: code and what its pages are made of.
 * @throws ToolFailed where there is no git, or the folder is none of its
 */
export function listProductFiles(): string[] {
  const listed = runTool("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...PARTS], ROOT);
  return listed.split("\n").filter((path) => path !== "" && !isForTests(path)).sort();
}

function isForTests(path: string): boolean {
  return /_test\.[jt]sx?$|\/testdata\//.test(path) ||
    /\/_(?!\w*\.tsx?$)|\/_(?:test|fuzz|attacks|script|real|fake)/.test(path);
}

/** Specifiers that `later` imports, as they are written in the code. */
export const LATER = /\blater\("(\.[^"]+)"\)/g;
