import { deepEqual, equal, throws } from "node:assert/strict";
import { groupOptions, parseFlags } from "../common/command_line/mod.ts";
import { readConfigValues } from "../common/config_values.ts";
import { OptionError, type OptionTable, REMOVED, resolveOptions } from "../common/options.ts";
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

Deno.test("the key of each option in the configuration file is its flag in camel case", () => {
  for (const table of [serverOptions, proxyOnlyOptions]) {
    for (const [name, { flag }] of Object.entries<{ flag: string }>(table)) {
      equal(name, flag.slice(2).replace(/-(\w)/g, (_, letter) => letter.toUpperCase()));
    }
  }
});

Deno.test("the flag, the variable and the key of a removed option are errors that name the successor", () => {
  for (const [table, origin] of [[serverOptions, "server"], [proxyOnlyOptions, "proxy"]] as const) {
    for (
      const [name, { flag, env, instead }] of Object.entries<{ flag: string; env?: string; instead: string }>(
        table[REMOVED],
      )
    ) {
      const isNamed = (given: string) => (error: unknown) => {
        equal(error instanceof OptionError && error.message, `${given}: this option was removed; ${instead}`);
        return true;
      };
      throws(() => parseFlags([flag, "1"], table), isNamed(flag));
      throws(() => parseFlags([`${flag}=1`], { ...table }), isNamed(flag));
      throws(() => readConfigValues(table, { [name]: 1 }, origin), isNamed(`${origin}: ${name}`));
      if (env === undefined) continue;
      throws(() => resolveOptions(table, { flags: {}, env: { [env]: "1" } }), isNamed(env));
      resolveOptions(table, { flags: {}, env: { [env]: "" } });
      const successor = /--[a-z-]+/.exec(instead)?.[0];
      equal(Object.values<{ flag: string }>(serverOptions).some(({ flag }) => flag === successor), true, instead);
    }
  }
});

Deno.test("--tunnel-domains takes one domain for all tunnels, or one for each kind", () => {
  const read = (text: string) =>
    resolveOptions(serverOptions, { flags: { tunnelDomains: text }, env: {} }).tunnelDomains;
  deepEqual([read(""), read("T.example"), read("a.example, b.example")], [[], ["t.example"], [
    "a.example",
    "b.example",
  ]]);
  throws(() => read("a.example,b.example,c.example"), /one domain or two are wanted/);
});
