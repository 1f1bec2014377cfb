import { deepEqual } from "node:assert/strict";
import { nameCommand } from "./name_command.ts";

Deno.test("nameCommand names scripts whole on Windows, and programs as everywhere", () => {
  const names = ["npm", "npx", "git", "node"];
  deepEqual(names.map((name) => nameCommand(name, "win32")), ["npm.cmd", "npx.cmd", "git", "node"]);
  for (const platform of ["linux", "darwin"]) deepEqual(names.map((name) => nameCommand(name, platform)), names);
});
