import assert from "node:assert/strict";
import * as options from "./options.ts";
import { type Option, OptionError, resolveOptions } from "./options.ts";

const port: Option<number> = {
  flag: "--port",
  env: "PORT",
  metavar: "PORT",
  parse: options.integer(1, 65_535),
  fallback: "80",
  help: "where",
};
const key: Option<number> = { flag: "--key", parse: options.integer(1, 2), fallback: "1", help: "", secret: true };

Deno.test("resolveOptions takes the flag, else the environment, else the default", () => {
  const resolve = (flag?: string, env?: string) =>
    resolveOptions({ port }, { flags: { port: flag }, env: { PORT: env } }).port;
  assert.deepEqual([resolve("1", "2"), resolve(undefined, "2"), resolve()], [1, 2, 80]);
});

Deno.test("resolveOptions names where a refused value came from, and shows it unless it is secret", () => {
  const refuse = (flags: Record<string, string>, env: Record<string, string>, message: string) =>
    assert.throws(
      () => resolveOptions({ port, key }, { flags, env }),
      (error) => error instanceof OptionError && error.message === message,
    );
  refuse({ port: "0" }, {}, '--port: cannot use "0": a whole number from 1 to 65535 is wanted');
  refuse({}, { PORT: "x" }, 'PORT: cannot use "x": a whole number from 1 to 65535 is wanted');
  refuse({ key: "hunter2" }, {}, "--key: cannot use its value: a whole number from 1 to 2 is wanted");
});

Deno.test("nameSource names the variable that a value came from, else the flag", () => {
  const name = (flag?: string, env?: string) => {
    const values = resolveOptions({ port, key }, { flags: { port: flag }, env: { PORT: env } });
    return options.nameSource({ port }, values, "port");
  };
  assert.deepEqual([name("1", "2"), name(undefined, "2"), name(), name(undefined, "")], [
    "--port",
    "PORT",
    "--port",
    "--port",
  ]);
  assert.equal(options.nameSource({ port }, { port: 80 }, "port"), "--port");
});

Deno.test("integer takes whole decimal numbers within its bounds only", () => {
  const parse = options.integer(0, 100);
  assert.deepEqual(["0", "100", "007"].map(parse), [0, 100, 7]);
  for (const text of ["", "-1", "101", "1.5", "1e1", "0x1", " 1", "1 ", "abc", "9".repeat(30)]) {
    assert.throws(() => parse(text), RangeError, text);
  }
});

Deno.test("choice, boolean, list and optionalText read what their names say", () => {
  assert.equal(options.choice("a", "b")("b"), "b");
  assert.throws(() => options.choice("a", "b")("c"), /one of a, b is wanted/);
  assert.deepEqual(["true", "1", "false", "0"].map(options.boolean), [true, true, false, false]);
  assert.throws(() => options.boolean("yes"), RangeError);
  assert.deepEqual(options.list(" a, b,,"), ["a", "b"]);
  assert.deepEqual(options.list(""), []);
  assert.deepEqual([options.optionalText(""), options.optionalText("x")], [null, "x"]);
});

Deno.test("origin takes scheme, host and port, nothing else", () => {
  assert.equal(options.origin("https://a.example:8443").host, "a.example:8443");
  for (const text of ["", "a.example", "ftp://a", "http://a/b", "http://a?b", "http://a#b", "http://u:p@a"]) {
    assert.throws(() => options.origin(text), SyntaxError, text);
  }
  assert.equal(options.optionalOrigin(""), null);
});

Deno.test("pageOrigins writes origins as browsers do, and refuses what no page has for one", () => {
  const text = "https://a.example:443, HTTP://B.example:80/,http://c.example:8080, null,*, chrome-extension://AbC";
  assert.deepEqual(options.pageOrigins(text), [
    "https://a.example",
    "http://b.example",
    "http://c.example:8080",
    "null",
    "*",
    "chrome-extension://abc",
  ]);
  assert.deepEqual(options.pageOrigins("https://straße.example"), ["https://xn--strae-oqa.example"]);
  for (
    const word of [
      "foo",
      "a.example",
      "https://a.example/path",
      "https://*.example",
      "https://",
      "x://a/b",
      "http:a",
      "https://u:p@a",
    ]
  ) {
    assert.throws(
      () => options.pageOrigins(`https://ok.example,${word}`),
      (error) => error instanceof SyntaxError && error.message.startsWith(`"${word}" `),
      word,
    );
  }
});

Deno.test("optionalFolder takes a folder that is there, and nothing else", () => {
  assert.deepEqual([options.optionalFolder(""), options.optionalFolder("docs")], [null, "docs"]);
  for (const path of ["/nonexistent", "deno.json", "deno.json/x"]) {
    assert.throws(() => options.optionalFolder(path), /folder|not a directory/i, path);
  }
});
