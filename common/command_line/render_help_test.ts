import assert from "node:assert/strict";
import { boolean, integer, type OptionTable, text } from "../options.ts";
import { type Command, describe, nameOption, type Program, renderHelp } from "./mod.ts";

const table = {
  expose: {
    heading: "Tunnels",
    flag: "--expose",
    short: "-e",
    env: "PORT",
    metavar: "PORT",
    parse: integer(1, 9),
    fallback: "3",
    help: "gives the service on this port a public URL that others can open",
  },
  spa: { flag: "--spa", metavar: "FILE", bare: "index.html", parse: text, fallback: "", help: "one page" },
  token: {
    heading: "Access",
    flag: "--a-rather-long-name-of-an-option",
    metavar: "TOKEN",
    parse: text,
    fallback: "hush",
    secret: true,
    help: "opens doors",
  },
  quiet: { flag: "--quiet", parse: boolean, fallback: "false", help: "says less" },
} satisfies OptionTable;

const run = () => Promise.resolve(0);
const main: Command = {
  name: "",
  summary: "does it",
  usage: "-e PORT",
  examples: [["it -e 3", "shows three"]],
  loadOptions: () => table,
  run,
};
const program: Program = {
  name: "it",
  about: "It: does it",
  commands: [
    main,
    { name: "store", summary: "keeps it", operands: ["FILE"], loadOptions: () => ({}), run },
    { name: "secret", summary: "is for programs", isHidden: true, loadOptions: () => ({}), run },
  ],
};

Deno.test("renderHelp shows usage, commands, options in groups, and examples, within the columns there are", () => {
  assert.equal(
    renderHelp(program, main, table, { columns: 60, color: false }),
    `It: does it

Usage: it -e PORT
       it COMMAND [options]

Commands:
  store  keeps it

Tunnels:
  -e, --expose PORT  gives the service on this port a public
                     URL that others can open (default 3,
                     PORT)
  --spa [FILE]       one page

Access:
  --a-rather-long-name-of-an-option TOKEN
                                  opens doors
  --quiet                         says less

Examples:
  it -e 3  shows three
`,
  );
});

Deno.test("renderHelp of a command says what it takes, and lists no other", () => {
  const help = renderHelp(program, program.commands[1], {}, { columns: 80, color: false });
  assert.equal(help, "it store: keeps it\n\nUsage: it store FILE [options]\n");
});

Deno.test("renderHelp breaks a long usage as wide as the terminal is", () => {
  const long = { ...program.commands[1], usage: "-e PORT | -f PATH | -w PATH\n--login" };
  const help = renderHelp(program, long, {}, { columns: 36, color: false });
  assert.equal(
    help,
    "it store: keeps it\n\nUsage: it store FILE -e PORT |\n         -f PATH | -w PATH\n       it store FILE --login\n",
  );
});

Deno.test("renderHelp writes headings bold where that is seen", () => {
  // deno-lint-ignore no-control-regex -- what is looked for
  assert.match(renderHelp(program, main, table, { columns: 80, color: true }), /^\x1b\[1mTunnels:\x1b\[0m$/m);
});

Deno.test("describe adds default and environment name, and no secret", () => {
  assert.match(describe(table.expose), / \(default 3, PORT\)$/);
  assert.equal(describe(table.quiet), "says less");
  assert.equal(describe(table.token), "opens doors");
});

Deno.test("nameOption shows a value that may be left out as such", () => {
  assert.deepEqual([table.expose, table.spa, table.quiet].map(nameOption), [
    "-e, --expose PORT",
    "--spa [FILE]",
    "--quiet",
  ]);
});
