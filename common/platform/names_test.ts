import { equal, ok } from "node:assert/strict";
import { foldName, isPlainName, isShortName } from "./names.ts";

const NOWHERE = [
  "",
  ".",
  "..",
  "a/b",
  "..\\windows",
  "a\\b",
  "\\\\server\\share",
  "\\\\?\\C:\\x",
  "a\0b",
  "€".repeat(86),
];

const NOT_ON_WINDOWS = [
  ...["C:", "c:x", "C:foo", "a:b", "file.txt::$DATA", "file.txt:stream:$DATA", ".::$INDEX_ALLOCATION"],
  ...["con", "CON", "Nul.txt", "nul .txt", "NUL  ", "aux.tar.gz", "PRN", "COM1", "com¹.log", "lpt9.log", "CONIN$"],
  ...["a.", "name.", "a ", "name. .", "...", ".env.", ".env ", "a?", "a*", "a<b", "a>b", 'a"', "a|b", "a\x01", "a\nb"],
];

const EVERYWHERE = [
  ...["a", ".env", "..a", "a..b", "a b", " a", "console", "com10", "com", "nully.txt", "aux1", "x.nul", "con-1.txt"],
  ...["PROGRA~1", "a~", "ä", "ä", "a'b", "a%5cb", "%2e%2e", "-", "$DATA", "€".repeat(85)],
];

Deno.test("isPlainName refuses what is no name of one entry, on each system", () => {
  for (const platform of ["win32", "darwin", "linux"]) {
    for (const name of NOWHERE) ok(!isPlainName(name, platform), `${platform}: ${JSON.stringify(name)}`);
    for (const name of EVERYWHERE) ok(isPlainName(name, platform), `${platform}: ${JSON.stringify(name)}`);
  }
});

Deno.test("isPlainName refuses devices, drives, streams and names that Windows changes on Windows alone", () => {
  for (const name of NOT_ON_WINDOWS) {
    ok(!isPlainName(name, "win32"), JSON.stringify(name));
    for (const platform of ["darwin", "linux"]) ok(isPlainName(name, platform), `${platform}: ${JSON.stringify(name)}`);
  }
});

Deno.test("isShortName knows the second names that Windows gives", () => {
  for (const name of ["PROGRA~1", "ENV~1", "PORTWA~1", "GIT~12", "FILE~1.TXT", "a~1.h", "HTPASS~1", "AB12CD~1.JSO"]) {
    ok(isShortName(name), name);
  }
  for (const name of ["a", "a~", "~", "a~b", "program~1", "a~1.json", "a~1.b.c", "a.~1", "foo.txt~1", ".a~1", ""]) {
    equal(isShortName(name), false, name);
  }
});

/** Ways to write one name, and whether Windows, macOS and Linux take them for the same. */
const PAIRS: readonly [string, string, windows: boolean, mac: boolean][] = [
  ["file.txt", "FILE.TXT", true, true],
  [".Portway-Uploads", ".portway-uploads", true, true],
  ["caf\u00e9", "cafe\u0301", false, true],
  ["CAF\u00c9", "cafe\u0301", false, true],
  ["CAF\u00c9", "caf\u00e9", true, true],
  ["\u03a3\u03b1\u03c2", "\u03c3\u03b1\u03c3", true, true],
  [".e\u200cnv", ".env", false, true],
  ["\ufeff.env", ".env", false, true],
  ["a", "b", false, false],
  ["file", "file.", false, false],
  ["\uff41", "a", false, false],
];

Deno.test("foldName is the same for names that are one to the system, and on Linux for no two", () => {
  for (const [a, b, windows, mac] of PAIRS) {
    const isSame = (platform: string) => foldName(a, platform) === foldName(b, platform);
    equal(isSame("win32"), windows, `windows: ${a} ${b}`);
    equal(isSame("darwin"), mac, `macOS: ${a} ${b}`);
    ok(!isSame("linux"), `linux: ${a} ${b}`);
  }
  equal(foldName("Caf\u00e9", "linux"), "Caf\u00e9");
});
