import { readFileSync } from "node:fs";

/** The flags for V8 that `deno task start` gives, for whatever else starts a program: docs/performance.md says why. */
export function readV8Flags(): string {
  const { tasks } = JSON.parse(readFileSync(new URL("../deno.json", import.meta.url), "utf8"));
  const flags = /--v8-flags=\S+/.exec(String(tasks.start.command))?.[0];
  if (flags === undefined) throw new Error("the task start gives no flags to V8");
  return flags;
}
