import { deepEqual, equal, ok } from "node:assert/strict";
import { ApiError } from "../parts/api.js";
import { type Memory, type Part, type Transport, type UploadItem, UploadQueue } from "./upload_queue.js";

const SLICE = 8 * 1024 * 1024;

/** A file of a length, of which nothing is read. */
function createFile(size: number): () => Promise<File> {
  return () => Promise.resolve({ size, lastModified: 1 } as File);
}

interface Setup extends Partial<Transport> {
  find?: Memory["find"];
  onconflict?: (item: UploadItem) => Promise<"replace" | "keep" | "skip">;
}

/** A queue whose network is in the test's hands, with what it remembers and a way to wait for what it does. */
function openQueue(
  { find = () => Promise.resolve(null), onconflict = () => Promise.resolve("skip" as const), ...transport }: Setup = {},
) {
  const kept = new Set<string>();
  const waiting: { holds: () => boolean; resolve: () => void }[] = [];
  const onchange = () => {
    for (const { holds, resolve } of waiting) if (holds()) resolve();
  };
  const queue: UploadQueue = new UploadQueue({
    transport: {
      sendPart: (item: UploadItem, file: File, { end }: Part) => {
        item.sent = end;
        return Promise.resolve(end === file.size ? 201 : 202);
      },
      findOffset: () => Promise.resolve({ offset: 0, isComplete: false }),
      makeFolder: () => Promise.resolve(),
      discard: () => Promise.resolve(),
      waitToRetry: () => Promise.resolve(),
      ...transport,
    },
    memory: { keep: ({ id }: UploadItem) => void kept.add(id), forget: (id: string) => void kept.delete(id), find },
    onchange,
    onfinished: () => {},
    onconflict,
  });
  const whenStates = (...states: string[]) =>
    new Promise<void>((resolve) => {
      const holds = () => [...queue.items].map(({ state }) => state).join() === states.join();
      if (holds()) resolve();
      else waiting.push({ holds, resolve });
    });
  return { queue, kept, whenStates };
}

Deno.test("UploadQueue sends a small file whole and a large one in slices, and remembers the large one until it is there", async () => {
  const parts: number[][] = [];
  let keptMeanwhile = 0;
  const { queue, kept, whenStates } = openQueue({
    sendPart: (item, file, { start, end }) => {
      parts.push([start, end]);
      keptMeanwhile = Math.max(keptMeanwhile, kept.size);
      item.sent = end;
      return Promise.resolve(end === file.size ? 201 : 202);
    },
  });
  queue.add(["small"], createFile(SLICE), SLICE);
  await whenStates("done");
  equal(keptMeanwhile, 0);
  queue.add(["large"], createFile(SLICE + 1), null);
  await whenStates("done", "done");
  deepEqual([parts, keptMeanwhile, kept.size], [[[0, SLICE], [0, SLICE], [SLICE, SLICE + 1]], 1, 0]);
});

Deno.test("UploadQueue asks what is there after a cut and goes on from it, as often as it takes", async () => {
  const starts: number[] = [];
  let cuts = 3;
  const { queue, whenStates } = openQueue({
    sendPart: (item, file, { start, end }) => {
      starts.push(start);
      if (cuts-- > 0) return Promise.reject(new ApiError(0, "network", ""));
      item.sent = end;
      return Promise.resolve(end === file.size ? 201 : 202);
    },
    findOffset: () => Promise.resolve({ offset: 1000 * starts.length, isComplete: false }),
  });
  queue.add(["large"], createFile(2 * SLICE), null);
  await whenStates("done");
  deepEqual(starts, [0, 1000, 2000, 3000, 3000 + SLICE]);
});

Deno.test("UploadQueue takes an upload of an earlier visit up again when its file is added, in place of its row", async () => {
  const sent: [string, number][] = [];
  const { queue, whenStates } = openQueue({
    find: (names) => Promise.resolve(names[0] === "large" ? { id: "earlier", mode: "replace" } : null),
    findOffset: () => Promise.resolve({ offset: SLICE, isComplete: false }),
    sendPart: (item, file, { start, end }) => {
      sent.push([`${item.id} ${item.mode}`, start]);
      item.sent = end;
      return Promise.resolve(end === file.size ? 201 : 202);
    },
  });
  queue.addLost({ id: "earlier", names: ["large"], size: 2 * SLICE, sent: SLICE });
  equal(queue.isBusy, false);
  queue.add(["large"], createFile(2 * SLICE), null);
  await whenStates("done");
  deepEqual(sent, [["earlier replace", SLICE]]);
});

Deno.test("UploadQueue asks where a name is taken, and replaces, keeps both or skips", async () => {
  const choices = ["replace", "keep", "skip"] as const;
  let asked = 0;
  const taken = new Set(["a.txt", "b.txt", "c.txt"]);
  const { queue, whenStates } = openQueue({
    onconflict: () => Promise.resolve(choices[asked++]),
    sendPart: (item) => {
      const isRefused = item.mode === "new" && taken.has(item.names[0]);
      return isRefused ? Promise.reject(new ApiError(412, "", "")) : Promise.resolve(201);
    },
  });
  for (const name of taken) {
    queue.add([name], createFile(1), 1);
    await whenStates(
      ...[...queue.items].map(({ state }) => state === "skipped" ? "skipped" : "done").slice(0, -1),
      name === "c.txt" ? "skipped" : "done",
    );
  }
  deepEqual([...queue.items].map(({ names, mode }) => `${names} ${mode}`), [
    "a.txt replace",
    "b (2).txt new",
    "c.txt new",
  ]);
});

Deno.test("UploadQueue sends four at a time, makes room when one is paused, and sends it once when it goes on", async () => {
  const sent: string[] = [];
  const held: (() => void)[] = [];
  const allSent = Promise.withResolvers<void>();
  const { queue, whenStates } = openQueue({
    sendPart: (item, _file, { signal }) => {
      if (sent.push(item.names[0]) === 4) allSent.resolve();
      return new Promise((resolve, reject) => {
        held.push(() => resolve(201));
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const items = ["1", "2", "3", "4", "5"].map((name) => queue.add([name], createFile(1), 1));
  await whenStates("sending", "sending", "sending", "sending", "waiting");
  await allSent.promise;
  queue.pause(items[0]);
  await whenStates("paused", "sending", "sending", "sending", "sending");
  ok(queue.isBusy);
  queue.resume(items[0]);
  queue.pause(items[0]);
  queue.resume(items[0]);
  deepEqual([...queue.items].map(({ state }) => state), ["waiting", "sending", "sending", "sending", "sending"]);
  while (items[0].state !== "done") {
    await new Promise((resolve) => setTimeout(resolve));
    for (const finish of held) finish();
  }
  deepEqual(sent.filter((name) => name === "1").length, 2);
  equal(queue.isBusy, false);
});

Deno.test("UploadQueue says why a file failed, tries it again, and gives up on the share what is cancelled", async () => {
  const discarded: string[] = [];
  let isAllowed = false;
  const { queue, kept, whenStates } = openQueue({
    sendPart: (item, file, { end }) => {
      item.sent = end;
      return isAllowed || end <= SLICE
        ? Promise.resolve(end === file.size ? 201 : 202)
        : Promise.reject(new ApiError(507, "disk_full", "There is no space left for this."));
    },
    findOffset: (item) => Promise.resolve({ offset: item.sent, isComplete: false }),
    discard: ({ names }) => {
      discarded.push(names[0]);
      return Promise.resolve();
    },
  });
  const item = queue.add(["large"], createFile(SLICE * 2), null);
  await whenStates("failed");
  equal(item.problem, "There is no space left for this.");
  isAllowed = true;
  queue.retryAll();
  await whenStates("done");
  isAllowed = false;
  queue.add(["other"], createFile(SLICE * 2), null);
  await whenStates("done", "failed");
  queue.clear(["failed"]);
  deepEqual([discarded, kept.size, queue.items.size], [["other"], 0, 1]);
});

Deno.test("UploadQueue takes ten thousand small files without a pause that grows with them", async () => {
  const { queue, whenStates } = openQueue();
  const count = 10_000;
  for (let index = 0; index < count; index++) queue.add([String(index)], createFile(1), 1);
  const last = [...queue.items].at(-1)!;
  while (last.state !== "done") await new Promise((resolve) => setTimeout(resolve));
  queue.clear(["done"]);
  await whenStates();
  equal(queue.items.size, 0);
});
