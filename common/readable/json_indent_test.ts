import { equal } from "node:assert/strict";
import { indentJson } from "./json_indent.js";

Deno.test("indentJson breaks lines and keeps every token as it is written", () => {
  const text = '{"big":12345678901234567890,"s":"a\\"{,}: ","list":[1,[],{}],"big":1e400}';
  equal(
    indentJson(text),
    `{
  "big": 12345678901234567890,
  "s": "a\\"{,}: ",
  "list": [
    1,
    [],
    {}
  ],
  "big": 1e400
}
`,
  );
  equal(indentJson(indentJson(text) ?? ""), indentJson(text));
});

Deno.test("indentJson leaves alone what is no JSON", () => {
  equal(indentJson("{a:1}"), null);
  equal(indentJson(""), null);
  equal(indentJson(" 5 "), "5\n");
});

Deno.test("indentJson shows letters in place of escapes, and keeps escapes of marks that cannot be seen", () => {
  const shown = (token: string) => indentJson(`["${token}"]`)?.trim().split("\n")[1].trim();
  equal(shown("Zo\\u00eb \\u4f60\\u597d \\ud83d\\ude00 a\\/b"), '"Zoë 你好 😀 a/b"');
  for (
    const kept of ["\\u0022", "\\u005c", "\\n", "\\u0000", "\\u202e", "\\ud83d", "\\\\u00eb", "\\u200b", "\\u2028"]
  ) {
    equal(shown(kept), `"${kept}"`);
  }
});
