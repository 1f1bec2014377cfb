import process from "node:process";

/** Commands that come as scripts for Windows, which starts those only by their whole name. */
const SCRIPTS: ReadonlySet<string> = new Set(["npm", "npx"]);

/** The name by which a command is started: `npm.cmd` on Windows for `npm`. */
export function nameCommand(name: string, platform: string = process.platform): string {
  return platform === "win32" && SCRIPTS.has(name) ? `${name}.cmd` : name;
}
