import { equal } from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openInside } from "./files.ts";

Deno.test("openInside takes a name that looks short for what the folder says it is, as on a disk with FAT", async () => {
  const root = mkdtempSync(join(tmpdir(), "portway-inside-"));
  try {
    mkdirSync(join(root, "FOLDER~1"));
    for (const name of ["ENV~1", "NOTES~1", "plain.txt", "FOLDER~1/a"]) writeFileSync(join(root, name), name);
    // Whose own names are `.env` and `.folder`: here they cannot be, so only the listing says so.
    const own = (name: string) => ({ "ENV~1": ".env", "FOLDER~1": ".folder" })[name] ?? name;
    const listNames = (folder: string) => Promise.resolve(readdirSync(folder).map(own));
    const shown = [];
    for (const path of ["ENV~1", "NOTES~1", "plain.txt", "FOLDER~1/a", "MISSIN~1", "MISSIN~1/a~1"]) {
      const opened = await openInside(root, path, { listNames, mayHaveShortNames: () => true });
      if (opened !== null) shown.push(path);
      await opened?.handle.close();
    }
    equal(shown.join(), "NOTES~1,plain.txt");
  } finally {
    rmSync(root, { recursive: true });
  }
});
