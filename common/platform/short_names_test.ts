import { equal } from "node:assert/strict";
import { mayHaveShortNames } from "./mod.ts";

const SYSTEMS: [name: string, type: number, may: boolean][] = [
  ["ext4", 0xef53, false],
  ["btrfs", 0x9123683e, false],
  ["btrfs as a signed number", 0x9123683e | 0, false],
  ["tmpfs", 0x01021994, false],
  ["NTFS by FUSE", 0x65735546, true],
  ["NTFS", 0x7366746e, true],
  ["FAT", 0x4d44, true],
  ["SMB", 0xfe534d42, true],
  ["what Windows says", 0, true],
];

for (const [name, type, may] of SYSTEMS) {
  Deno.test(`${name} ${may ? "may have" : "has no"} second names for its entries`, () => {
    equal(mayHaveShortNames("/somewhere", () => type), may);
  });
}

Deno.test("a folder whose file system cannot be asked may have second names", () => {
  equal(mayHaveShortNames("/this/is/not/there"), true);
});
