import assert from "node:assert/strict";
import { resolveOptions } from "../common/options.ts";
import { clientOptions } from "./config.ts";

Deno.test("NO_COLOR prints without colours whatever it says, unless it says nothing", () => {
  const noColor = (env: Record<string, string>, flags = {}) => resolveOptions(clientOptions, { flags, env }).noColor;
  for (const value of ["1", "false", "0", "no"]) assert.equal(noColor({ NO_COLOR: value }), true, value);
  assert.deepEqual([noColor({}), noColor({ NO_COLOR: "" }), noColor({}, { noColor: "true" })], [false, false, true]);
});
