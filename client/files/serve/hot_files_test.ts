import { equal, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openTestShare } from "../_test_share.ts";
import { createHotFiles } from "./read_routes.ts";
import { readBytes } from "../../../net/file_http/mod.ts";
import { openRoot } from "../disk/root.ts";

Deno.test("hot files come from memory while nothing changes, and from the disk after every kind of change", async () => {
  await using share = openTestShare();
  share.write("a.txt", "one");
  let later = 5000;
  const open = createHotFiles(openRoot({ path: share.path, hidden: false }), () => Date.now() + later);
  const read = () => {
    const file = open(["a.txt"]);
    ok(file.kind === "file");
    const text = new TextDecoder().decode(readBytes(file, 0, file.stat.size));
    file.close();
    return [text, file.content !== undefined];
  };
  equal(read().join(), "one,true");
  equal(open(["a.txt"]), open(["a.txt"]));
  // Of another length: two writes in a row may fall into one tick of the clock that stamps them.
  share.write("a.txt", "three");
  equal(read().join(), "three,true");
  const file = path.join(share.path, "a.txt");
  fs.writeFileSync(`${file}.new`, "six");
  fs.renameSync(`${file}.new`, file);
  equal(read().join(), "six,true");
  fs.rmSync(file);
  fs.symlinkSync("../outside/secret.txt", file);
  throws(read, { status: 404 });
  fs.rmSync(file);
  throws(read, { code: "not_found" });
  later = 0;
  share.write("a.txt", "new");
  equal(read().join(), "new,false");
});
