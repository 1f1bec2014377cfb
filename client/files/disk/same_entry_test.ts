import { equal } from "node:assert/strict";
import { isSameEntry, type NamedEntry } from "./same_entry.ts";

const entry = (name: string, ino: number, { nlink = 1, isFolder = false } = {}): NamedEntry => ({
  name,
  stat: { dev: 1, ino, nlink, isDirectory: () => isFolder },
});

Deno.test("isSameEntry knows a file by another case of its name, and tells files apart that seem to have one number", () => {
  const cases: readonly [NamedEntry, NamedEntry, boolean][] = [
    [entry("a.txt", 7), entry("A.TXT", 7), true],
    [entry("caf\u00e9", 7), entry("cafe\u0301", 7), true],
    [entry("Folder", 7, { nlink: 3, isFolder: true }), entry("folder", 7, { nlink: 3, isFolder: true }), true],
    [entry("a.txt", 7), entry("A.TXT", 8), false],
    // Two hard links on a system that tells cases apart.
    [entry("a.txt", 7, { nlink: 2 }), entry("A.TXT", 7, { nlink: 2 }), false],
    // As Windows numbers two files: both are 2 ** 60 as far as a double can tell.
    [entry("old.txt", Number(2n ** 60n + 1n)), entry("new.txt", Number(2n ** 60n + 2n)), false],
  ];
  for (const [a, b, isSame] of cases) equal(isSameEntry(a, b), isSame, `${a.name} ${b.name}`);
});
