import { deepEqual } from "node:assert/strict";
import { findExportViolations } from "./check_exports.ts";

/** Violations of a made-up tree: each file's text by its path. */
const check = (tree: Record<string, string>) => findExportViolations(new Map(Object.entries(tree)));

const content: [name: string, tree: Record<string, string>][] = [
  ["what another file imports", {
    "common/a.ts": "/** A. */\nexport function a() {}\n",
    "server/b.ts": 'import { a } from "../common/a.ts";\n',
  }],
  ["what a test alone imports", {
    "common/a.ts": "/** A. */\nexport const a = 1;\n",
    "common/a_test.ts": 'import { a as b } from "./a.ts";\n',
  }],
  ["what is passed on and imported there", {
    "common/a/b.ts": "/** B. */\nexport class B {}\n",
    "common/a/mod.ts": 'export {\n  B as C,\n} from "./b.ts";\n',
    "server/d.ts": 'import { C } from "../common/a/mod.ts";\n',
  }],
  ["what is passed on with everything else", {
    "common/a/b.ts": "/** B. */\nexport async function b() {}\n",
    "common/a/mod.ts": 'export * from "./b.ts";\n',
    "server/d.ts": 'import { b } from "../common/a/mod.ts";\n',
  }],
  ["what a module that is loaded later is asked for", {
    "common/a.ts": "/** A. */\nexport function run() {}\n",
    "server/b.ts": 'const { run }: typeof import("../common/a.ts") = await import(later("../common/a.ts"));\n',
  }],
  ["types that a signature beside them names", {
    "common/a.ts": "/** A. */\nexport interface A {}\n\n/** B. */\nexport function b(a: A) {}\n",
    "common/c.ts": 'import { b } from "./a.ts";\n',
  }],
  ["types that a front door passes on with what they belong to", {
    "common/a/b.ts": "/** B. */\nexport type B = 1;\n\n/** C. */\nexport const c: B = 1;\n",
    "common/a/mod.ts": 'export { type B, c } from "./b.ts";\n',
    "server/d.ts": 'import { c } from "../common/a/mod.ts";\n',
  }],
  ["several signatures with one comment", {
    "common/a.ts": "/** A. */\nexport function a(b: 1): 1;\nexport function a(b: 2): 2;\n",
    "common/c.ts": 'import { a } from "./a.ts";\n',
  }],
  ["the library, tools and tests", {
    "mod.ts": "/** A. */\nexport const a = 1;\n",
    "scripts/a.ts": "export const a = 1;\n",
    "server/a_test.ts": "export const a = 1;\n",
    "tests/kit.ts": "export const a = 1;\n",
  }],
];

for (const [name, tree] of content) {
  Deno.test(`check_exports is content with ${name}`, () => deepEqual(check(tree), []));
}

const refused: [name: string, tree: Record<string, string>, violation: string][] = [
  ["what nobody imports", {
    "common/a.ts": "/** A. */\nexport function a() {\n  return a;\n}\n",
  }, "common/a.ts: exports a, which no other file imports"],
  ["what a front door passes on to nobody", {
    "common/a/b.ts": "/** B. */\nexport const b = 1;\n",
    "common/a/mod.ts": 'export { b } from "./b.ts";\n',
    "common/a/c.ts": 'import { b } from "./b.ts";\n',
  }, "common/a/mod.ts: exports b, which no other file imports"],
  ["a type that stands alone", {
    "common/a.ts": "/** A. */\nexport type A = 1;\n",
  }, "common/a.ts: exports A, which no other file imports"],
  ["what has the name of another file's export alone", {
    "common/a.ts": "/** A. */\nexport const a = 1;\n",
    "common/b.ts": "/** A. */\nexport const a = 1;\n",
    "server/c.ts": 'import { a } from "../common/a.ts";\n',
  }, "common/b.ts: exports a, which no other file imports"],
  ["what a module that is loaded whole is never asked for", {
    "common/a.ts": "/** A. */\nexport function run() {}\n",
    "server/b.ts": 'const { walk }: typeof import("../common/a.ts") = await import(later("../common/a.ts"));\n',
  }, "common/a.ts: exports run, which no other file imports"],
  ["what has no comment", {
    "common/a.ts": "/** What the file is. */\n\nexport class A {}\n",
    "server/b.ts": 'import { A } from "../common/a.ts";\n',
  }, "common/a.ts: exports A without a doc comment right above it"],
  ["what has no comment in a browser's module", {
    "server/hq/assets/a.js": "// Why so.\nexport async function* a() {}\n",
    "server/hq/assets/b.js": 'import { a } from "./a.js";\n',
  }, "server/hq/assets/a.js: exports a without a doc comment right above it"],
  ["a library without comments", {
    "mod.ts": "export const a = 1;\n",
  }, "mod.ts: exports a without a doc comment right above it"],
];

for (const [name, tree, violation] of refused) {
  Deno.test(`check_exports refuses ${name}`, () => deepEqual(check(tree), [violation]));
}
