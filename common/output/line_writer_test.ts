import assert from "node:assert/strict";
import { type LineWriterOptions, openLineWriter } from "./line_writer.ts";

/** A writer whose first write hangs until it is let go. */
function openStalled(options: LineWriterOptions) {
  const written: string[] = [];
  const letGo = Promise.withResolvers<void>(), began = Promise.withResolvers<void>();
  const writer = openLineWriter((bytes) => {
    began.resolve();
    written.push(decode(bytes));
    return letGo.promise;
  }, options);
  writer.write("first");
  return { writer, written, began: began.promise, letGo: () => letGo.resolve() };
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("openLineWriter writes lines together, in order, and flush waits for them", async () => {
  const written: string[] = [];
  const writer = openLineWriter((bytes) => Promise.resolve(void written.push(decode(bytes))));
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

Deno.test("openLineWriter writes a line's parts behind each other, in UTF-8, whatever their length", async () => {
  const written: string[] = [];
  const writer = openLineWriter((bytes) => Promise.resolve(void written.push(decode(bytes))));
  const parts = ["a", "", "für ", "é".repeat(100), "x".repeat(100), "漢😀", "\ud800", "y".repeat(300_000)];
  writer.write(...parts);
  writer.write("b");
  await writer.flush();
  assert.equal(written.join(""), `${parts.join("").toWellFormed()}\nb\n`);
});

Deno.test("openLineWriter keeps what is new of a slow output, and says how much it left out", async () => {
  const { writer, written, began, letGo } = openStalled({
    maxWaiting: 256 * 1024,
    describeDropped: (count) => `${count} dropped`,
  });
  await began;
  for (let count = 0; count <= 100_000; count++) writer.write(String(count));
  letGo();
  await writer.flush();
  const [told, ...lines] = written.slice(1).join("").trimEnd().split("\n");
  const dropped = Number(/^(\d+) dropped$/.exec(told)?.[1]);
  assert(dropped > 0);
  assert.deepEqual(lines, Array.from({ length: 100_001 - dropped }, (_, index) => String(dropped + index)));
});

Deno.test("openLineWriter keeps as much of long lines for a slow output as of short ones", async () => {
  const { writer, written, began, letGo } = openStalled({});
  await began;
  for (let count = 0; count < 2000; count++) writer.write(`${count} `, "x".repeat(32 * 1024));
  letGo();
  await writer.flush();
  const text = written.slice(1).join("");
  assert(text.length < 9 * 1024 * 1024, `${text.length} bytes were kept`);
  assert(text.length > 3 * 1024 * 1024, `${text.length} bytes were kept`);
  assert.match(text, /\n1999 x+\n$/);
});

Deno.test("openLineWriter tries an output again where it is told to, and counts what was lost", async () => {
  const written: string[] = [];
  let isFull = true;
  const writer = openLineWriter((bytes) => {
    if (isFull) return Promise.reject(new Error("disk full"));
    written.push(decode(bytes));
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
