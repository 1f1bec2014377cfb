import { equal, throws } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openTestShare } from "../_test_share.ts";
import { openRoot } from "./root.ts";
import { setTimes } from "./set_times.ts";

Deno.test("setTimes sets the times of a file and of a folder, as each system lets it", async () => {
  await using share = openTestShare();
  share.write("folder/file.txt", "");
  const root = openRoot({ path: share.path, hidden: false });
  let seconds = 1_000_000_000;
  for (const platform of ["linux", "darwin", "win32"]) {
    for (const segments of [["folder", "file.txt"], ["folder"]]) {
      const opened = root.open(segments);
      setTimes(root, opened, ++seconds, platform);
      opened.close();
      equal(fs.statSync(path.join(share.path, ...segments)).mtimeMs, seconds * 1000, `${platform} ${segments}`);
    }
  }
});

Deno.test("setTimes on Windows needs no right of the descriptor, which is for reading there", () => {
  const place = { fd: -1, segments: ["missing"] };
  throws(() => setTimes({ path: "/nowhere" }, place, 1, "win32"), { code: "ENOENT" });
  throws(
    () => setTimes({ path: "/nowhere" }, place, 1, "linux"),
    (error: Error & { code?: string }) => error.code !== "ENOENT",
  );
});
