import { spawnSync } from "node:child_process";
import { nameCommand } from "../../common/platform/mod.ts";

/** A program that a script needs is missing or failed; the message has one line, then the program's output. */
export class ToolFailed extends Error {
  override readonly name = "ToolFailed";
}

/**
 * Runs a program to its end.
 * @param program its path, or its name on PATH; `deno` is the Deno that runs this script
 * @returns its standard output
 * @throws ToolFailed
 */
export function runTool(program: string, args: readonly string[], cwd: string): string {
  const command = program === "deno" ? Deno.execPath() : nameCommand(program);
  const { error, status, stdout, stderr } = spawnSync(command, [...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 2 ** 26,
  });
  if (error !== undefined) throw new ToolFailed(explainUnstarted(program, error), { cause: error });
  if (status !== 0) throw new ToolFailed(`${program} ${args[0]} failed: ${stderr.trim() || `exit code ${status}`}`);
  return stdout;
}

function explainUnstarted(program: string, error: Error): string {
  const isMissing = "code" in error && error.code === "ENOENT";
  return isMissing ? `cannot run ${program}: it is not on PATH` : `cannot run ${program}: ${error.message}`;
}
