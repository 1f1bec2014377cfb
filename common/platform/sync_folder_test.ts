import { rejects, throws } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { syncFolder, syncFolderAt } from "./sync_folder.ts";

const MISSING = path.join(os.tmpdir(), "portway-no-such-folder");

Deno.test("syncFolder asks the system, but on Windows, which refuses to be asked", async () => {
  const folder = fs.openSync(os.tmpdir(), "r");
  await syncFolder(folder, "linux");
  fs.closeSync(folder);
  await rejects(syncFolder(-1, "linux"));
  await rejects(syncFolder(-1, "darwin"));
  await syncFolder(-1, "win32");
});

Deno.test("syncFolderAt does the same by a path", () => {
  syncFolderAt(os.tmpdir(), "linux");
  for (const platform of ["linux", "darwin"]) throws(() => syncFolderAt(MISSING, platform), { code: "ENOENT" });
  syncFolderAt(MISSING, "win32");
});
