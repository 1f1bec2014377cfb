import process from "node:process";

/** Commands that are scripts on Windows, which starts those only by their full name. */
const SCRIPTS: ReadonlySet<string> = new Set(["npm", "npx"]);

/** Returns the name to start a command: `npm.cmd` on Windows for `npm`. */
export function nameCommand(name: string, platform: string = process.platform): string {
  return platform === "win32" && SCRIPTS.has(name) ? `${name}.cmd` : name;
}
