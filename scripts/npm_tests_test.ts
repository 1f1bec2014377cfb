import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chooseTests, LEFT_OUT } from "./npm_tests.ts";

Deno.test("the package's tests are those of tests/ but for what is left out by name, and browsers", () => {
  const files = readdirSync(fileURLToPath(new URL("../tests", import.meta.url)));
  for (const name of Object.keys(LEFT_OUT)) assert(files.includes(name), `${name} is not there any more`);
  const chosen = chooseTests(files);
  assert(chosen.includes("http_test.ts") && chosen.includes("login_test.ts"));
  assert(!chosen.includes("npm_package_test.ts") && !chosen.includes("site_browser_test.ts"));
});
