import assert from "node:assert/strict";
import { findBrowserCommand, openBrowser } from "./browser.ts";

const url = "https://a.example/?a=1&b=%22$(x)";

Deno.test("findBrowserCommand knows what opens a page on each system, and where nobody would see it", () => {
  const cases: [platform: string, env: Record<string, string>, command: string[] | null][] = [
    ["darwin", {}, ["open", url]],
    ["win32", {}, ["C:\\Windows\\System32\\rundll32.exe", "url.dll,FileProtocolHandler", url]],
    ["win32", { SystemRoot: "D:\\Win" }, ["D:\\Win\\System32\\rundll32.exe", "url.dll,FileProtocolHandler", url]],
    ["win32", { SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" }, null],
    ["linux", { DISPLAY: ":0" }, ["xdg-open", url]],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open", url]],
    ["linux", { WSL_DISTRO_NAME: "Debian" }, ["explorer.exe", url]],
    ["linux", {}, null],
    ["linux", { DISPLAY: "" }, null],
    ["linux", { DISPLAY: ":0", SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" }, null],
    ["darwin", { SSH_TTY: "/dev/pts/1" }, null],
  ];
  for (const [platform, env, command] of cases) assert.deepEqual(findBrowserCommand(url, platform, env), command);
});

Deno.test("openBrowser opens nothing where there is nothing to be seen", () => {
  assert.equal(openBrowser(url, {}), null);
});
