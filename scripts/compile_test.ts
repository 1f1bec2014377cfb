import assert from "node:assert/strict";
import { listIncluded, nameExecutable, TARGETS } from "./compile.ts";
import { listProductFiles } from "./package/product_files.ts";

Deno.test("executables are named by release and system", () => {
  assert.deepEqual(TARGETS.map((target) => nameExecutable(target, "1.2.3")), [
    "portway-1.2.3-x86_64-apple-darwin",
    "portway-1.2.3-aarch64-apple-darwin",
    "portway-1.2.3-x86_64-unknown-linux-gnu",
    "portway-1.2.3-aarch64-unknown-linux-gnu",
    "portway-1.2.3-x86_64-pc-windows-msvc.exe",
  ]);
});

Deno.test("what is loaded by name is embedded, and every file of the pages", () => {
  const included = listIncluded(listProductFiles(), (path) => Deno.readTextFileSync(path));
  for (const path of ["client/run.ts", "server/run.ts", "client/files/mod.ts", "client/files/assets/page.html"]) {
    assert(included.includes(path), path);
  }
  assert(!included.some((path) => /_test|testdata/.test(path)));
});
