import assert from "node:assert/strict";
import { nameExecutable, TARGETS } from "./compile.ts";

Deno.test("executables are named by release and system", () => {
  assert.deepEqual(TARGETS.map((target) => nameExecutable(target, "1.2.3")), [
    "portway-1.2.3-x86_64-apple-darwin",
    "portway-1.2.3-aarch64-apple-darwin",
    "portway-1.2.3-x86_64-unknown-linux-gnu",
    "portway-1.2.3-aarch64-unknown-linux-gnu",
    "portway-1.2.3-x86_64-pc-windows-msvc.exe",
  ]);
});
