import { equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { isRunning } from "./is_running.ts";

Deno.test("isRunning knows this process, and none that has ended", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  equal(isRunning(process.pid), true);
  equal(isRunning(pid), false);
});

Deno.test("isRunning takes what may not be asked for running, and nothing else that goes wrong", () => {
  // ESRCH of all systems; EPERM of Linux and macOS for another user's, and of Windows for the system's own.
  for (const [code, isThere] of [["EPERM", true], ["ESRCH", false], ["EINVAL", false]] as const) {
    const ask = () => {
      throw Object.assign(new Error(code), { code });
    };
    equal(isRunning(1234, ask), isThere, code);
  }
});

Deno.test("isRunning asks for no groups", () => {
  const ask = () => {
    throw new Error("was asked");
  };
  for (const pid of [0, -1, NaN, 1.5]) equal(isRunning(pid, ask), false);
});
