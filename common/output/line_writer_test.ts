import assert from "node:assert/strict";
import { openLineWriter } from "./line_writer.ts";

Deno.test("openLineWriter writes lines together, in order, and flush waits for them", async () => {
  const written: string[] = [];
  const writer = openLineWriter((text) => Promise.resolve(void written.push(text)));
  writer.write("a");
  writer.write("b");
  await writer.flush();
  writer.write("c");
  await writer.flush();
  assert.deepEqual(written, ["a\nb\n", "c\n"]);
});

Deno.test("openLineWriter leaves an output alone that fails, and tells of it once", async () => {
  const reasons: string[] = [];
  let writes = 0;
  const writer = openLineWriter(() => {
    writes++;
    return Promise.reject(new Error("disk full"));
  }, { onBroken: (reason) => reasons.push(reason) });
  for (const line of ["a", "b"]) {
    writer.write(line);
    await writer.flush();
  }
  assert.deepEqual([writes, reasons], [1, ["disk full"]]);
});

Deno.test("openLineWriter keeps what is new of a slow output, and says how much it left out", async () => {
  const written: string[] = [];
  const first = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const writer = openLineWriter((text) => {
    began.resolve();
    written.push(text);
    return first.promise;
  }, { describeDropped: (count) => `${count} dropped` });
  writer.write("first");
  await began.promise;
  for (let count = 0; count <= 100_000; count++) writer.write(String(count));
  first.resolve();
  await writer.flush();
  const lines = written[1].trimEnd().split("\n");
  assert.equal(lines[0], "50000 dropped");
  assert.deepEqual([lines[1], lines.at(-1), lines.length], ["50000", "100000", 50_002]);
});

Deno.test("openLineWriter tries an output again where it is told to, and counts what was lost", async () => {
  const written: string[] = [];
  let isFull = true;
  const writer = openLineWriter((text) => {
    if (isFull) return Promise.reject(new Error("disk full"));
    written.push(text);
    return Promise.resolve();
  }, { retries: true, describeDropped: (count) => `${count} dropped` });
  writer.write("a");
  writer.write("b");
  await writer.flush();
  isFull = false;
  writer.write("c");
  await writer.flush();
  assert.deepEqual(written, ["2 dropped\nc\n"]);
});
