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
