import { deepEqual, equal } from "node:assert/strict";
import { countItems, describeItem, describeProgress, measure, nameState, pickRows } from "./upload_figures.js";
import type { State, UploadItem } from "./upload_queue.js";

function createItem(state: State, size: number | null, sent: number, problem = ""): UploadItem {
  return { id: state, names: ["a"], source: null, size, sent, state, problem, mode: "new", abort: null };
}

Deno.test("the panel names what goes on, and what has failed besides", () => {
  const say = (...states: State[]) => nameState(countItems(states.map((state) => createItem(state, 1, 0))));
  equal(say("sending", "waiting", "done"), "Uploading 2 files");
  equal(say("sending", "failed"), "Uploading 1 file, 1 failed");
  equal(say("paused"), "1 upload paused");
  equal(say("failed", "done"), "1 upload failed");
  equal(say("done", "done"), "2 files uploaded");
  equal(say("lost"), "1 upload interrupted");
});

Deno.test("bytes tell how far uploads are, and files where sizes are not known yet", () => {
  deepEqual(measure([createItem("done", 100, 100), createItem("sending", 300, 100)]), {
    sent: 200,
    total: 400,
    share: 0.5,
  });
  deepEqual(measure([createItem("done", 100, 100), createItem("waiting", null, 0)]), {
    sent: 100,
    total: null,
    share: 0.5,
  });
  equal(measure([createItem("failed", 100, 90)]).sent, 0);
});

Deno.test("the time left is told while something is being sent and its size is known", () => {
  const items = [createItem("sending", 3_000_000, 1_000_000)];
  equal(describeProgress(countItems(items), measure(items), 100_000), "1.0 MB of 3.0 MB · 100 kB/s · 20 s left");
  const paused = [createItem("paused", 3_000_000, 1_000_000)];
  equal(describeProgress(countItems(paused), measure(paused), 0), "1.0 MB of 3.0 MB");
});

Deno.test("an upload says its problem, else its state, else how far it is", () => {
  equal(describeItem(createItem("failed", 1, 0, "There is no space left.")), "There is no space left.");
  equal(describeItem(createItem("done", 1, 1)), "Done");
  equal(describeItem(createItem("sending", 2000, 1000)), "1.0 kB of 2.0 kB");
  equal(
    describeItem(createItem("lost", 2000, 1000)),
    "Interrupted at 1.0 kB of 2.0 kB: choose the file again to go on",
  );
});

Deno.test("of many uploads those are shown that somebody has to look at, and the latest of those that are done", () => {
  const done = Array.from({ length: 100 }, (_, index) => ({ ...createItem("done", 1, 1), id: `done ${index}` }));
  const rows = pickRows([...done, createItem("failed", 1, 0)]);
  equal(rows.length, 60);
  deepEqual(rows.slice(0, 2).map(({ id }) => id), ["failed", "done 99"]);
});
