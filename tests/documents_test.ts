/** The documents keep their word: each command in them is run, on a machine as their reader's is. */
import assert from "node:assert/strict";
import { listCommands, openMachine, readDocument } from "./documents_kit.ts";

/** Where the reader of each document stands at its beginning. */
const DOCUMENTS = [
  ["README.md", "project"],
  ["docs/start/first-tunnel.md", "empty"],
  ["docs/reference/commands.md", "empty"],
  ["docs/reference/http-api.md", "empty"],
] as const;

/** What cannot be run here, and why. */
const HELD = new Map([
  ["npx -y deno@2.9.6 task test", "it runs this test"],
  ["deno task test", "it runs this test"],
  ["apt-get install chromium", "it changes the machine"],
  ["portway -e https://localhost:8443", "tests/tls_test.ts has such a service"],
  ["portway --switch-account", "it asks: client/login/choose_account_test.ts"],
  ["portway --login", "somebody signs in with a browser: tests/login_browser_test.ts"],
  ["portway --login --server http://localhost:8787", "somebody signs in with a browser: tests/login_browser_test.ts"],
]);

for (const [path, where] of DOCUMENTS) {
  Deno.test(`the commands in ${path} do what it says`, async (t) => {
    await using machine = await openMachine(where);
    for (const command of listCommands(readDocument(path)).filter((command) => !HELD.has(command))) {
      await t.step(command, async () => {
        const { code, output, errors } = await machine.run(command);
        assert.equal(code, 0, `${output}\n${errors}`);
      });
    }
  });
}

Deno.test("no command is held back that no document has", () => {
  const all = DOCUMENTS.flatMap(([path]) => listCommands(readDocument(path)));
  assert.deepEqual([...HELD.keys()].filter((command) => !all.includes(command)), []);
});

Deno.test("documents name the Deno that tests run with", () => {
  for (const [path] of DOCUMENTS) {
    for (const [, version] of readDocument(path).matchAll(/deno@(\d[\d.]*\d)/g)) {
      assert.equal(version, Deno.version.deno);
    }
  }
});

Deno.test("listCommands finds blocks, lines behind $, code within text and the rows of tables", () => {
  const text =
    "Use `portway -e 1` or `--json`.\n\n```sh\nportway -f . # here\n\n# no\n```\n\n```\n$ portway x\nout\n```\n" +
    "| `portway -f .`, `-w dist` | with `--spa` |\n";
  assert.deepEqual(listCommands(text), [
    "portway -e 1",
    "portway -f .",
    "portway x",
    "portway -f .",
    "portway -w dist",
  ]);
});
