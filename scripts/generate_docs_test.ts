import { equal, match, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { text } from "../common/options.ts";
import {
  CONFIGURATION_FILE,
  LIMITS_FILE,
  MAN_FILE,
  portway,
  renderConfiguration,
  renderLimits,
  SCHEMAS,
} from "./generate_docs.ts";
import { ERRORS_FILE, findErrorCodes, renderErrors } from "./error_reference.ts";
import { renderManPage } from "./man_page.ts";
import { MEDIA_TYPES_FILE, renderMediaTypes } from "./media_types.ts";

Deno.test("docs/reference/configuration.md is what the option tables say; run `deno task docs` when it is not", () => {
  equal(readFileSync(CONFIGURATION_FILE, "utf8"), renderConfiguration());
});

Deno.test("net/file_http/media_types.ts has the types of mime-db; run `deno task docs` when it has not", () => {
  equal(readFileSync(MEDIA_TYPES_FILE, "utf8"), renderMediaTypes());
});

Deno.test("docs/reference/portway.1 is what the tables say; run `deno task docs` when it is not", async () => {
  equal(readFileSync(MAN_FILE, "utf8"), await renderManPage(portway));
});

Deno.test("docs/reference/limits.md is what the option tables say; run `deno task docs` when it is not", () => {
  equal(readFileSync(LIMITS_FILE, "utf8"), renderLimits());
});

Deno.test("docs/reference/errors.md describes each code in the source; run `deno task docs` when it does not", () => {
  equal(readFileSync(ERRORS_FILE, "utf8"), renderErrors());
});

Deno.test("renderErrors refuses a code without a text, and a text without a code", () => {
  const file = (code: string) => new Map([["server/a.ts", `throw new HttpError(418, "${code}", "No.");`]]);
  equal([...findErrorCodes(file("a_new_code"))].join(), "a_new_code,[object Set]");
  throws(() => renderErrors(file("a_new_code")), /no text for a_new_code$/);
  throws(() => renderErrors(file("not_found")), /no source for /);
});

Deno.test("the schemas of configuration files are what the tables say; run `deno task docs` when they are not", () => {
  for (const [file, text] of SCHEMAS) equal(readFileSync(file, "utf8"), text);
});

Deno.test("renderManPage writes nothing that roff takes for a request", async () => {
  const page = await renderManPage({
    name: "it",
    about: "It",
    commands: [{
      name: "",
      summary: "does it",
      loadOptions: () => ({
        odd: { flag: "--odd", parse: text, fallback: "", help: ".dots, 'quotes', \\backslashes and \"these\"" },
      }),
      run: () => Promise.resolve(0),
    }],
  });
  match(page, /^\.B \\-\\-odd\n\\&\.dots, 'quotes', \\ebackslashes and \\\(dqthese\\\(dq$/m);
  ok(page.split("\n").every((line) => !line.startsWith("'") && !/^\.(?!TH|SH|SS|PP|TP|B |I |br)/.test(line)), page);
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
