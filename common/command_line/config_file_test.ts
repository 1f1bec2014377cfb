import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { boolean, integer, list, OptionError, type OptionTable, text } from "../options.ts";
import { loadConfigFile } from "./config_file.ts";

const table = {
  port: { flag: "--port", env: "PORT", metavar: "PORT", parse: integer(1, 9), fallback: "3", help: "" },
  allow: { flag: "--allow", metavar: "NAMES", parse: list, fallback: "", help: "" },
  header: { flag: "--header", metavar: "LINE", parse: text, fallback: "", isRepeatable: true, help: "" },
  quiet: { flag: "--quiet", parse: boolean, fallback: "false", help: "" },
} satisfies OptionTable;

function load(content: string | Uint8Array, flags = {}, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), "portway-config-"));
  try {
    const configFile = join(folder, "portway.json");
    writeFileSync(configFile, content);
    const { configFile: _path, ...texts } = loadConfigFile(table, { ...flags, configFile }, env);
    return texts;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("loadConfigFile reads options by their names: numbers, switches, texts and lists", () => {
  assert.deepEqual(load('{"port": 5, "quiet": true, "allow": ["a", "b"], "header": ["x: 1", "y: 2"]}'), {
    port: "5",
    quiet: "true",
    allow: "a,b",
    header: "x: 1\ny: 2",
  });
});

Deno.test("loadConfigFile lets flags and variables go before the file", () => {
  assert.deepEqual(load('{"port": 5}', { port: "6" }), { port: "6" });
  assert.deepEqual([load('{"port": 5}', {}, { PORT: "7" }), load('{"port": 5}', {}, { PORT: "" })], [{}, {
    port: "5",
  }]);
});

Deno.test("loadConfigFile reads what Windows' editors and PowerShell write", () => {
  const utf16 = new Uint8Array(Uint16Array.from('\ufeff{"port": 5}\r\n', (char) => char.charCodeAt(0)).buffer);
  for (const content of ['\ufeff{"port": 5}\r\n', utf16]) assert.deepEqual(load(content), { port: "5" });
});

Deno.test("loadConfigFile leaves the name of a schema to editors, and a value that a flag stands before unread", () => {
  assert.deepEqual(load('{"$schema": "./a.json", "port": 12}', { port: "6" }), { port: "6" });
});

Deno.test("loadConfigFile names what it cannot use", () => {
  const refused: [string, RegExp][] = [
    ['{"prot": 5}', /portway\.json: there is no option "prot": did you mean port\?/],
    ['{"constructor": 5}', /there is no option "constructor"/],
    ['{"port": {}}', /portway\.json: port: a text, a number/],
    ['{"port": 12}', /portway\.json: port: cannot use "12": a whole number from 1 to 9 is wanted/],
    ["[]", /an object of options is wanted/],
    ["{", /--config: cannot use/],
  ];
  for (const [content, says] of refused) {
    assert.throws(() => load(content), (error) => error instanceof OptionError && says.test(error.message), content);
  }
});
