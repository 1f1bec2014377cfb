import { readFileSync } from "node:fs";

/** Returns the argument with V8 flags from `deno task start`: docs/explanation/performance.md gives the reasons. */
export function readV8Flags(): string {
  const { tasks } = JSON.parse(readFileSync(new URL("../deno.json", import.meta.url), "utf8"));
  const flags = /--v8-flags=\S+/.exec(String(tasks.start.command))?.[0];
  if (flags === undefined) throw new Error("the task start gives no flags to V8");
  return flags;
}

/** Returns the same flags for Node, each an argument. */
export function listV8Flags(): string[] {
  return readV8Flags().slice("--v8-flags=".length).split(",");
}
