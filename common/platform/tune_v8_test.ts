import { equal, notEqual } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { V8_FLAGS } from "./tune_v8.ts";

/** The code with which Deno ends that is given such flags; it refuses what V8 does not know, setting them does not. */
const start = (flags: readonly string[]): number | null =>
  spawnSync(process.execPath, ["eval", `--v8-flags=${flags.join(",")}`, "0"]).status;

Deno.test("V8 knows every flag that is set", () => {
  equal(start(V8_FLAGS), 0);
  notEqual(start([...V8_FLAGS, "--no-such-flag"]), 0);
});
