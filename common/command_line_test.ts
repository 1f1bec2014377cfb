import assert from "node:assert/strict";
import { parse } from "@optique/core/parser";
import { createFlagParser, describe, splitValues } from "./command_line.ts";
import { boolean, integer, type OptionTable, text } from "./options.ts";

const table = {
  port: { flag: "--port", short: "-e", env: "PORT", metavar: "PORT", parse: integer(1, 9), fallback: "3", help: "p" },
  quiet: { flag: "--quiet", parse: boolean, fallback: "false", help: "q" },
  spa: { flag: "--spa", metavar: "FILE", bare: "index.html", parse: text, fallback: "", help: "s" },
} satisfies OptionTable;

const read = (...args: string[]) => {
  const result = parse(createFlagParser(table), args);
  return result.success ? result.value : null;
};

Deno.test("createFlagParser gives the texts of the flags, under the names of the table", () => {
  assert.deepEqual(read(), { port: undefined, quiet: undefined, spa: undefined });
  assert.equal(read("--port", "5")?.port, "5");
  assert.equal(read("-e", "5")?.port, "5");
  assert.equal(read("--quiet")?.quiet, "true");
});

Deno.test("createFlagParser lets a value be left out where a text stands for the flag alone", () => {
  assert.equal(read("--spa")?.spa, "index.html");
  assert.equal(read("--spa", "app.html")?.spa, "app.html");
  assert.deepEqual([read("--spa", "--quiet")?.spa, read("--spa", "--quiet")?.quiet], ["index.html", "true"]);
});

Deno.test("createFlagParser refuses unknown flags and missing values", () => {
  assert.equal(read("--nope"), null);
  assert.equal(read("--port"), null);
});

Deno.test("describe adds default and environment name", () => {
  assert.equal(describe(table.port), "p (default 3, PORT)");
  assert.equal(describe(table.quiet), "q");
});

Deno.test("splitValues splits what people type and leaves the rest alone", () => {
  const split = (...args: string[]) => splitValues(args, ["-e", "-p"], table);
  assert.deepEqual(split("-e3000", "-e=3000", "-p="), ["-e", "3000", "-e", "3000", "-p", ""]);
  assert.deepEqual(split("-fw", "-e", "3000", "--port=1", "-x1", "-"), ["-fw", "-e", "3000", "--port=1", "-x1", "-"]);
  assert.deepEqual(split("--spa=app.html", "--spa=", "--spa"), ["--spa", "app.html", "--spa", "", "--spa"]);
});
