import { deepEqual, equal, match } from "node:assert/strict";
import { findViolations } from "./check_imports.ts";

/** Violations of a made-up tree: each file's text by its path. */
const check = (tree: Record<string, string>) => findViolations(new Map(Object.entries(tree)));
const importing = (...specifiers: string[]) => specifiers.map((name) => `import { x } from "${name}";`).join("\n");

Deno.test("check_imports is content with imports that go down", () => {
  deepEqual(
    check({
      "cli.ts": importing("./client/main.ts", "./server/main.ts"),
      "server/main.ts": importing("./app.ts", "./config.ts"),
      "server/app.ts": importing("./hq/mod.ts", "./relay/mod.ts", "../common/log.ts"),
      "server/hq/mod.ts": importing("../relay/mod.ts", "../store/mod.ts"),
      "server/relay/mod.ts": importing("./relay.ts"),
      "server/relay/api/a.ts": importing("../session/a.ts", "../relay.ts"),
      "server/captures/replay/a.ts": importing("../service/a.ts"),
      "server/captures/service/a.ts": importing("../replay/b.ts"),
      "server/relay/relay.ts": importing("./_heads.ts", "../guard/mod.ts", "../../protocol/mux.ts", "hono", "node:fs"),
      "client/main.ts": importing("./tunnel/tunnel.ts"),
      "client/tunnel/tunnel.ts": importing("../terminal/mod.ts", "../config.ts"),
      "common/headers.ts": importing("./listener/mod.ts"),
      "scripts/demo.ts": importing("../cli.ts", "../server/main.ts", "../tests/kit.ts"),
    }),
    [],
  );
});

const refused: [name: string, tree: Record<string, string>, reason: RegExp][] = [
  ["an import from a row above", { "common/a.ts": importing("../server/relay/b.ts") }, /above/],
  ["a sibling area", { "server/relay/a.ts": importing("../proxy/b.ts") }, /of one row/],
  ["a sibling of the wire contract", { "protocol/a.ts": importing("../web/b.ts") }, /of one row/],
  ["an area that imports the composition", { "server/relay/a.ts": importing("../app.ts") }, /above/],
  ["a base that imports an area", { "server/store/a.ts": importing("../relay/b.ts") }, /above/],
  ["the client in the server", { "server/relay/a.ts": importing("../../client/config.ts") }, /never import each other/],
  ["the server in the client", { "client/main.ts": importing("../server/store/a.ts") }, /never import each other/],
  ["an entry in an entry", { "mod.ts": importing("./cli.ts") }, /of one row/],
  ["a tool outside tools", { "server/app.ts": importing("../scripts/a.ts") }, /above/],
  ["a test outside tests", { "server/app.ts": importing("./app_test.ts") }, /only tests/],
  ["a file outside the project", { "cli.ts": importing("../other/a.ts") }, /outside/],
  ["a folder that is in no row", { "server/extra/a.ts": "" }, /no unit/],
  [
    "a file behind a front door",
    { "server/app.ts": importing("./relay/edge.ts"), "server/relay/mod.ts": "", "server/relay/edge.ts": "" },
    /through its mod\.ts/,
  ],
  [
    "a file behind the front door of a folder in a leaf",
    { "net/a.ts": importing("./listener/deno.ts"), "net/listener/mod.ts": "" },
    /through its mod\.ts/,
  ],
  ["a room that imports its area", { "client/tunnel/rewrite/a.ts": importing("../b.ts") }, /above the room/],
  ["a room above", { "server/relay/tunnel/a.ts": importing("../visit/b.ts") }, /the room visit is above tunnel/],
  ["a room of its row", { "server/relay/visit/a.ts": importing("../management/b.ts") }, /in the row of visit/],
  [
    "a room in no row",
    { "server/relay/extra/a.ts": importing("../tunnel/b.ts") },
    /relay\/extra is in no row of ROOMS/,
  ],
  ["a private file", { "server/app.ts": importing("./relay/_edge.ts") }, /private/],
  ["a private folder", { "server/app.ts": importing("./relay/_pages/a.ts") }, /private/],
  ["a re-export upwards", { "common/a.ts": `export * from "../server/app.ts";` }, /above/],
  ["a dynamic import upwards", { "common/a.ts": `const a = await import("../server/app.ts");` }, /above/],
  ["a type import upwards", { "common/a.ts": `import type {\n  A,\n  B,\n} from "../server/app.ts";` }, /above/],
  ["an import for its effect", { "common/a.ts": `import "../server/app.ts";` }, /above/],
  [
    "a later import upwards",
    { "common/a.ts": 'const a: typeof import("../server/app.ts") = await import(later("../server/app.ts"));' },
    /above/,
  ],
  ["a later import without a type", { "common/a.ts": 'const a = await import(later("./b.ts"));' }, /typeof import/],
  [
    "a later import with the type of another file",
    { "common/a.ts": 'const a: typeof import("./b.ts") = await import(later("./c.ts"));' },
    /imports \.\/c\.ts by later/,
  ],
  ["Deno in an area", { "server/relay/a.ts": `const a = Deno.args;` }, /uses Deno/],
  ["Deno behind a question mark", { "common/a.ts": `const a = Deno?.args;` }, /uses Deno/],
  ["Deno after a pattern with slashes", { "common/a.ts": `const t = "*/*", a = Deno.args;` }, /uses Deno/],
];

for (const [name, tree, reason] of refused) {
  Deno.test(`check_imports refuses ${name}`, () => {
    const violations = check(tree);
    equal(violations.length, 1, violations.join("\n"));
    match(violations[0], reason);
    equal(violations[0].startsWith(Object.keys(tree)[0]), true);
  });
}

Deno.test("check_imports tells a circle with all its files", () => {
  deepEqual(
    check({
      "common/a.ts": importing("./b.ts"),
      "common/b.ts": importing("./c.ts"),
      "common/c.ts": importing("./a.ts"),
    }),
    ["common/a.ts: imports itself in a circle: common/a.ts -> common/b.ts -> common/c.ts -> common/a.ts"],
  );
});

Deno.test("check_imports leaves tests alone, and Deno where it belongs", () => {
  deepEqual(
    check({
      "common/a_test.ts": importing("../server/relay/b.ts") + "Deno.test();",
      "tests/kit.ts": importing("../server/relay/_b.ts"),
      "net/listener/deno.ts": "Deno.serve();",
      "server.ts": "Deno.exit();",
      "bench/main.ts": "Deno.exit();",
      "common/b.ts":
        "// Deno.serve is the faster\n/** `Deno.serve` too:\n * import x from '../server/app.ts' */\nconst isDeno = 1;",
    }),
    [],
  );
});
