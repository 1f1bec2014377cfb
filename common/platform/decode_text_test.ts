import { equal } from "node:assert/strict";
import { decodeText } from "./decode_text.ts";

const TEXT = '{"web": "caf\u00e9"}\r\n';

Deno.test("decodeText takes text as editors and shells write it on each system", () => {
  const utf8 = new TextEncoder().encode(TEXT),
    utf16 = new Uint8Array(Uint16Array.from(TEXT, (char) => char.charCodeAt(0)).buffer);
  const swapped = Uint8Array.from(utf16, (_, index) => utf16[index ^ 1]);
  const files = {
    plain: utf8,
    notepad: [0xef, 0xbb, 0xbf, ...utf8],
    powershell: [0xff, 0xfe, ...utf16],
    other: [0xfe, 0xff, ...swapped],
  };
  for (const [name, bytes] of Object.entries(files)) equal(decodeText(Uint8Array.from(bytes)), TEXT, name);
  equal(decodeText(new Uint8Array()), "");
});
