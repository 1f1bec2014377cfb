import { deepEqual, equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { writeZip, type ZipEntry } from "./zip_writer.ts";

async function* entriesOf(...entries: ZipEntry[]): AsyncGenerator<ZipEntry> {
  yield* entries;
}

function entryOf(name: string, text: string, size = text.length): ZipEntry {
  return { name, size, modified: new Date(2026, 4, 6, 7, 8, 10), read: () => [new TextEncoder().encode(text)] };
}

/** Reads a zip with an implementation that is not ours. */
async function inspect(entries: AsyncIterable<ZipEntry>): Promise<unknown[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-zip-"));
  try {
    const file = path.join(folder, "a.zip");
    fs.writeFileSync(file, Buffer.concat(await Array.fromAsync(writeZip(entries))));
    const program = `import sys,zipfile,json
z=zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps([[i.filename,i.file_size,z.read(i)[:9].decode(),list(i.date_time)] for i in z.infolist()[:5]]+[len(z.infolist())]))`;
    return JSON.parse(execFileSync("python3", ["-c", program, file], { encoding: "utf8" }));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

Deno.test("writeZip makes a zip that others read: names in UTF-8, content, time", async () => {
  const time = [2026, 5, 6, 7, 8, 10];
  deepEqual(await inspect(entriesOf(entryOf("ä/", ""), entryOf("ä/日本.txt", "hello"), entryOf("empty", ""))), [
    ["ä/", 0, "", time],
    ["ä/日本.txt", 5, "hello", time],
    ["empty", 0, "", time],
    3,
  ]);
  deepEqual(await inspect(entriesOf()), [0]);
});

Deno.test("writeZip counts beyond 65,535 entries", async () => {
  async function* many(): AsyncGenerator<ZipEntry> {
    for (let index = 0; index < 65_600; index++) yield entryOf(`${index}`, "");
  }
  equal((await inspect(many())).at(-1), 65_600);
});

Deno.test("writeZip refuses an entry that is not as long as it was said to be", async () => {
  const drain = async () => {
    for await (const _ of writeZip(entriesOf(entryOf("a", "abc", 5))));
  };
  await rejects(drain, RangeError);
});
