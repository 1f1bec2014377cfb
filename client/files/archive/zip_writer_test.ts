import { deepEqual, equal, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { ZipWriter } from "./zip_writer.ts";

const MODIFIED = new Date(2026, 4, 6, 7, 8, 10);
const TIME = [2026, 5, 6, 7, 8, 10];

function addText(zip: ZipWriter, name: string, text: string): void {
  const bytes = new TextEncoder().encode(text);
  zip.addWhole({ name, modified: MODIFIED }, bytes.length, (into) => {
    into.set(bytes);
    return bytes.length;
  });
}

/**
 * Reads what `write` makes with an implementation that is not ours: the first entries with the beginning of their
 * content, and how many there are. Pieces of zeros become holes of the file.
 */
function inspect(write: (zip: ZipWriter, drain: () => void) => void, hole?: Uint8Array): unknown[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-zip-"));
  const file = path.join(folder, "a.zip");
  const fd = fs.openSync(file, "w");
  let at = 0;
  const zip = new ZipWriter();
  const drain = () => {
    for (const piece of zip.take()) {
      if (piece !== hole) fs.writeSync(fd, piece, 0, piece.length, at);
      at += piece.length;
    }
  };
  try {
    write(zip, drain);
    zip.close();
    drain();
    const program = `import sys,zipfile,json
z=zipfile.ZipFile(sys.argv[1])
print(json.dumps([[i.filename,i.file_size,z.open(i).read(9).decode(),list(i.date_time)] for i in z.infolist()[:5]]+[len(z.infolist())]))`;
    return JSON.parse(execFileSync("python3", ["-c", program, file], { encoding: "utf8" }));
  } finally {
    fs.closeSync(fd);
    fs.rmSync(folder, { recursive: true });
  }
}

Deno.test("ZipWriter makes a zip that others read: names in UTF-8, content, time", () => {
  const entries = inspect((zip) => {
    zip.addFolder({ name: "ä/", modified: MODIFIED });
    addText(zip, "ä/日本.txt", "hello");
    addText(zip, "empty", "");
    zip.begin({ name: "pieces", modified: MODIFIED }, 6);
    for (const piece of ["abc", "def"]) zip.addPiece(new TextEncoder().encode(piece));
    zip.end();
  });
  deepEqual(entries, [
    ["ä/", 0, "", TIME],
    ["ä/日本.txt", 5, "hello", TIME],
    ["empty", 0, "", TIME],
    ["pieces", 6, "abcdef", TIME],
    4,
  ]);
  deepEqual(inspect(() => {}), [0]);
});

Deno.test("ZipWriter counts beyond 65,535 entries", () => {
  const write = (zip: ZipWriter, drain: () => void) => {
    for (let index = 0; index < 65_600; index++) addText(zip, `${index}`, "");
    drain();
  };
  equal(inspect(write).at(-1), 65_600);
});

Deno.test("ZipWriter goes beyond 4 GiB, in one file and in where the next one begins", () => {
  const hole = new Uint8Array(64 * 1024 * 1024);
  const size = 65 * hole.length;
  const entries = inspect((zip, drain) => {
    zip.begin({ name: "large", modified: MODIFIED }, size);
    for (let count = 0; count < 65; count++) {
      zip.addPiece(hole);
      drain();
    }
    zip.end();
    addText(zip, "behind", "it");
  }, hole);
  deepEqual(entries, [["large", size, "\0".repeat(9), TIME], ["behind", 2, "it", TIME], 2]);
});

Deno.test("ZipWriter takes what a file has when it is read, and leaves out what cannot be read", () => {
  const entries = inspect((zip) => {
    zip.addWhole({ name: "shorter", modified: MODIFIED }, 9, (into) => {
      into.set([0x61, 0x62]);
      return 2;
    });
    throws(() => zip.addWhole({ name: "gone", modified: MODIFIED }, 9, () => fs.readFileSync("/gone").length));
    addText(zip, "next", "one");
  });
  deepEqual(entries, [["shorter", 2, "ab", TIME], ["next", 3, "one", TIME], 2]);
});

Deno.test("ZipWriter takes a file in pieces that has become shorter, however long it was", () => {
  for (const size of [5, 5 * 2 ** 30]) {
    const entries = inspect((zip) => {
      zip.begin({ name: "shorter", modified: MODIFIED }, size);
      zip.addPiece(new TextEncoder().encode("abc"));
      zip.end();
      addText(zip, "next", "one");
    });
    deepEqual(entries, [["shorter", 3, "abc", TIME], ["next", 3, "one", TIME], 2]);
  }
});

Deno.test("ZipWriter refuses an entry that is longer than it was said to be", () => {
  const zip = new ZipWriter();
  zip.begin({ name: "a", modified: MODIFIED }, 2);
  zip.addPiece(new TextEncoder().encode("abc"));
  throws(() => zip.end(), RangeError);
});
