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

Deno.test("--forward takes a port, a host with or without a scheme, a path and a query", () => {
  const read = (text: string) => resolveOptions(clientOptions, { flags: { forward: text }, env: {} }).forward?.href;
  const taken: [text: string, href: string][] = [
    ["3000", "http://localhost:3000/"],
    ["localhost:3000/hook", "http://localhost:3000/hook"],
    ["localhost:3000", "http://localhost:3000/"],
    ["127.0.0.1:8080?key=1", "http://127.0.0.1:8080/?key=1"],
    ["[::1]:8080/x", "http://[::1]:8080/x"],
    ["nas.lan/hook?a=1&b=%20", "http://nas.lan/hook?a=1&b=%20"],
    ["https://localhost:3000/hook?a=1", "https://localhost:3000/hook?a=1"],
  ];
  for (const [text, href] of taken) assert.equal(read(text), href, text);
  for (const text of ["0", "70000", "ftp://x", "http://", "a b", "http://u:p@h/", "h:3000#x", "/hook"]) {
    assert.throws(() => read(text), text);
  }
});
