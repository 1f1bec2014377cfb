import { equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { text } from "../common/options.ts";
import { CONFIGURATION_FILE, renderConfiguration } from "./generate_docs.ts";

Deno.test("docs/configuration.md is what the option tables say; run `deno task docs` when it is not", () => {
  equal(readFileSync(CONFIGURATION_FILE, "utf8"), renderConfiguration());
});

Deno.test("renderConfiguration shows flag, variable, default and help of each option, and no secret's default", () => {
  const shown = renderConfiguration([["Program", {
    port: { flag: "--port", env: "PORTWAY_PORT", metavar: "PORT", parse: text, fallback: "80", help: "a|b" },
    token: { flag: "--token", parse: text, fallback: "hush", help: "a token", secret: true },
  }]]);
  match(shown, /^## Program$/m);
  match(shown, /^\| `--port PORT` +\| `PORTWAY_PORT` +\| `80` +\| a\\\|b +\|$/m);
  match(shown, /^\| `--token` +\| +\| +\| a token +\|$/m);
  ok(!shown.includes("hush"));
});
