import { deepEqual } from "node:assert/strict";
import { groupOptions } from "../common/command_line/mod.ts";
import type { OptionTable } from "../common/options.ts";
import { backUpOptions, proxyOnlyOptions, serverOptions } from "./config.ts";

const readHeadings = (table: OptionTable) =>
  new Map(groupOptions(table).flatMap(([heading, options]) => options.map(({ flag }) => [flag, heading])));

Deno.test("the commands' options stand under the headings that they have in the server's help", () => {
  const known = readHeadings(serverOptions);
  for (const table of [backUpOptions, proxyOnlyOptions]) {
    const shared = [...readHeadings(table)].filter(([flag]) => known.has(flag));
    deepEqual(shared, shared.map(([flag]) => [flag, known.get(flag)]));
  }
});
