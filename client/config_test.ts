import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { resolveOptions } from "../common/options.ts";
import { clientOptions, defaultConfigDir } from "./config.ts";

Deno.test("NO_COLOR prints without colours whatever it says, unless it says nothing", () => {
  const noColor = (env: Record<string, string>, flags = {}) => resolveOptions(clientOptions, { flags, env }).noColor;
  for (const value of ["1", "false", "0", "no"]) assert.equal(noColor({ NO_COLOR: value }), true, value);
  assert.deepEqual([noColor({}), noColor({ NO_COLOR: "" }), noColor({}, { noColor: "true" })], [false, false, true]);
});

Deno.test("defaultConfigDir is where each system keeps what belongs to a user's programs", () => {
  const cases: readonly [platform: string, env: Record<string, string>, folder: string][] = [
    ["win32", { APPDATA: "/roaming", XDG_CONFIG_HOME: "/xdg" }, join("/roaming", "portway")],
    ["win32", { APPDATA: "" }, join(homedir(), "AppData", "Roaming", "portway")],
    ["darwin", { XDG_CONFIG_HOME: "/xdg" }, join(homedir(), "Library", "Application Support", "portway")],
    ["linux", { XDG_CONFIG_HOME: "/xdg", APPDATA: "/roaming" }, join("/xdg", "portway")],
    ["linux", { XDG_CONFIG_HOME: "" }, join(homedir(), ".config", "portway")],
  ];
  for (const [platform, env, folder] of cases) assert.equal(defaultConfigDir(env, platform), folder);
});
