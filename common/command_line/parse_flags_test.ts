import assert from "node:assert/strict";
import { boolean, integer, OptionError, type OptionTable, text } from "../options.ts";
import { parseFlags } from "./mod.ts";

const table = {
  expose: { flag: "--expose", short: "-e", metavar: "PORT", parse: integer(1, 9), fallback: "3", help: "" },
  files: { flag: "--files", short: "-f", metavar: "PATH", parse: text, fallback: "", help: "" },
  filesWrite: { flag: "--files-write", short: "-fw", metavar: "PATH", parse: text, fallback: "", help: "" },
  passphrase: { flag: "--passphrase", short: "-p", metavar: "WORD", bare: "-", parse: text, fallback: "", help: "" },
  spa: { flag: "--spa", metavar: "FILE", bare: "index.html", parse: text, fallback: "", help: "" },
  header: { flag: "--header", metavar: "LINE", parse: text, fallback: "", isRepeatable: true, help: "" },
  copy: { flag: "--copy", metavar: "FROM TO", parse: text, fallback: "", isPair: true, help: "" },
  quiet: { flag: "--quiet", parse: boolean, fallback: "false", help: "" },
  noColor: { flag: "--no-color", parse: (value: string) => value !== "", fallback: "", help: "" },
} satisfies OptionTable;

/** Command lines, and what they say. */
const READ: [args: string[], flags: Record<string, string>, operands?: string[]][] = [
  [[], {}],
  [["--expose", "5"], { expose: "5" }],
  [["--expose=5"], { expose: "5" }],
  [["-e", "5"], { expose: "5" }],
  [["-e5000"], { expose: "5000" }],
  [["-e=5000"], { expose: "5000" }],
  [["-e", "-1"], { expose: "-1" }],
  [["-f", "."], { files: "." }],
  [["-fw", "in box"], { filesWrite: "in box" }],
  [["-fw=inbox"], { filesWrite: "inbox" }],
  [["-f", "-"], { files: "-" }],
  [["-f=-odd"], { files: "-odd" }],
  [["-p="], { passphrase: "" }],
  [["-p", "--quiet"], { passphrase: "-", quiet: "true" }],
  [["-p"], { passphrase: "-" }],
  [["--spa"], { spa: "index.html" }],
  [["--spa", "app.html"], { spa: "app.html" }],
  [["--spa="], { spa: "" }],
  [["--spa", "--quiet"], { spa: "index.html", quiet: "true" }],
  [["--header", "a: b=c", "--header=d: e"], { header: "a: b=c\nd: e" }],
  [["--copy", "a", "b", "c"], { copy: "a\nb" }, ["c"]],
  [["--quiet=false"], { quiet: "false" }],
  [["a", "--quiet", "b", "-"], { quiet: "true" }, ["a", "b", "-"]],
  [["--quiet", "--", "--files", "-x"], { quiet: "true" }, ["--files", "-x"]],
];

for (const [args, flags, operands = []] of READ) {
  Deno.test(`parseFlags reads ${args.join(" ") || "nothing"}`, () => {
    assert.deepEqual(parseFlags(args, table), { flags, operands });
  });
}

/** Command lines that are wrong, and what is said of them. */
const REFUSED: [args: string[], says: string][] = [
  [["--expos", "5"], 'there is no flag "--expos": did you mean --expose?'],
  [["--flies-write", "."], 'there is no flag "--flies-write": did you mean --files-write?'],
  [["--filess"], 'there is no flag "--filess": did you mean --files?'],
  [["--pass=x"], 'there is no flag "--pass": did you mean --passphrase?'],
  [["--nothing-like-it"], 'there is no flag "--nothing-like-it"; --help shows all'],
  [["-x"], 'there is no flag "-x"; --help shows all'],
  [["-fout"], 'there is no flag "-fout"; --help shows all'],
  [["-fw3"], 'there is no flag "-fw3": did you mean -fw?'],
  [["--constructor"], 'there is no flag "--constructor"; --help shows all'],
  [["-e"], "-e, --expose: a value is missing: PORT"],
  [["-e", "--quiet"], "-e, --expose: a value is missing: PORT"],
  [["-f", "-fw", "."], "-f, --files: a value is missing: PATH"],
  [["--copy", "a"], "--copy: it takes two values: FROM TO"],
  [["-e", "5", "--expose", "6"], "-e, --expose: it is given twice"],
  [["--no-color=no"], "--no-color: it takes no value"],
];

for (const [args, says] of REFUSED) {
  Deno.test(`parseFlags refuses ${args.join(" ")}`, () => {
    assert.throws(() => parseFlags(args, table), (error) => {
      assert(error instanceof OptionError);
      assert.equal(error.message, says);
      return true;
    });
  });
}

Deno.test("parseFlags takes long command lines in their own time", () => {
  const args = Array.from({ length: 20_000 }, (_, at) => ["--header", `x-${at}: 1`]).flat();
  assert.equal(parseFlags(args, table).flags.header?.split("\n").length, 20_000);
  assert.throws(() => parseFlags([`--${"x".repeat(1_000_000)}`], table), OptionError);
});
