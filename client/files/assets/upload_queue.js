// The queue of uploads: several files at a time, large ones in slices, and whatever a network cut broke off is
// taken up again where it stopped.

import { ApiError, makeFolder, send, toPath } from "./api.js";
import { sendPart } from "./send_part.js";

/** Files sent at once. Each is written and synced on its own, so a few side by side fill the wait. */
const PARALLEL = 4;
/** Bytes of a slice: proxies on the way often refuse bodies of 100 MB. */
const SLICE = 8 * 1024 * 1024;
const RETRY_MS = [500, 1000, 2000, 4000, 8000, 15000];
/** Answers that say "not now" rather than "no". */
const PASSING = new Set([0, 408, 425, 429, 500, 502, 503, 504]);

/**
 * A queue. `onchange(item)` is called whenever something about an item or the whole changed, `onfinished(item)` when
 * a file is there, `onconflict(item)` resolves with "replace", "keep" or "skip" when a file of that name is there.
 */
export function createUploadQueue({ onchange, onfinished, onconflict }) {
  const items = [];
  let running = 0;
  let isPaused = false;
  let wake = Promise.withResolvers();

  function add(names, source, size) {
    const item = {
      id: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`,
      names,
      source,
      size,
      sent: 0,
      state: "waiting",
      problem: "",
      mode: "new",
      abort: null,
    };
    items.push(item);
    pump();
    return item;
  }

  function pump() {
    while (!isPaused && running < PARALLEL) {
      const item = items.find(({ state }) => state === "waiting");
      if (item === undefined) break;
      running++;
      run(item).finally(() => {
        running--;
        pump();
      });
    }
    onchange();
  }

  async function run(item) {
    set(item, "sending");
    item.abort = new AbortController();
    try {
      if (item.source === null) await ensureFolder(item.names);
      else await upload(item);
      set(item, "done");
      item.source = null;
      onfinished(item);
    } catch (error) {
      if (item.state === "sending" || item.state === "retrying") fail(item, error);
    }
  }

  function fail(item, error) {
    item.problem = error instanceof ApiError ? error.message : "The file could not be read.";
    set(item, "failed");
  }

  async function upload(item) {
    const file = await item.source();
    item.size = file.size;
    // What was sent before a pause may not all have arrived.
    if (item.sent > 0 && await findOffset(item, file)) return;
    for (let tries = 0;;) {
      const before = item.sent;
      try {
        if (await sendFile(item, file)) return;
      } catch (error) {
        if (item.abort.signal.aborted) throw error;
        if (error.status === 412 && item.mode === "new") {
          if (await settleConflict(item)) continue;
          return;
        }
        const isMoved = error.status === 409 && error.code.startsWith("upload_");
        if (!PASSING.has(error.status) && !isMoved && error.code !== "upload_cut") throw error;
        tries = item.sent > before ? 0 : tries + 1;
        await waitToRetry(item, tries);
      }
      if (await findOffset(item, file)) return;
    }
  }

  /** Sends what is missing; true when the file is complete. */
  async function sendFile(item, file) {
    set(item, "sending");
    if (file.size <= SLICE) {
      await sendPart(item, file, 0, file.size, onchange);
      return true;
    }
    while (item.sent < file.size) {
      const end = Math.min(item.sent + SLICE, file.size);
      const status = await sendPart(item, file, item.sent, end, onchange);
      item.sent = end;
      if (status !== 202) return true;
    }
    return false;
  }

  /** Asks how much of a file is there; true when all of it is, and the answer that said so was lost. */
  async function findOffset(item, file) {
    try {
      const path = `${toPath(item.names, false)}?upload=${item.id}`;
      const { headers } = await send("HEAD", path, { signal: item.abort.signal });
      const offset = Number(headers.get("upload-offset") ?? 0);
      // A small file is sent whole, so it begins anew.
      item.sent = file.size > SLICE ? Math.min(offset, file.size) : 0;
      return headers.get("upload-complete") === "?1" && offset === file.size;
    } catch (error) {
      if (item.abort.signal.aborted) throw error;
      // Not reachable yet: the next part will fail and ask again.
      return false;
    }
  }

  async function settleConflict(item) {
    set(item, "asking");
    const choice = await onconflict(item);
    if (item.abort.signal.aborted) throw new DOMException("stopped", "AbortError");
    if (choice === "skip") {
      item.problem = "Skipped: it is there already.";
      set(item, "skipped");
      throw new DOMException("skipped", "AbortError");
    }
    if (choice === "replace") item.mode = "replace";
    else item.names = [...item.names.slice(0, -1), nextName(item.names.at(-1))];
    item.sent = 0;
    return true;
  }

  async function waitToRetry(item, tries) {
    set(item, "retrying");
    const delay = RETRY_MS[Math.min(tries, RETRY_MS.length) - 1] ?? RETRY_MS[0];
    await Promise.race([new Promise((resolve) => setTimeout(resolve, delay)), wake.promise]);
    if (item.abort.signal.aborted) throw new DOMException("stopped", "AbortError");
  }

  function set(item, state) {
    item.state = state;
    onchange(item);
  }

  function stop(item, state) {
    item.state = state;
    item.abort?.abort();
    onchange(item);
  }

  function pause(item) {
    if (["waiting", "sending", "retrying"].includes(item.state)) stop(item, "paused");
  }

  function resume(item) {
    if (!["paused", "failed"].includes(item.state)) return;
    item.problem = "";
    item.state = "waiting";
    pump();
  }

  function cancel(item) {
    const isBegun = item.sent > 0 && item.state !== "done";
    stop(item, "canceled");
    items.splice(items.indexOf(item), 1);
    if (isBegun) send("DELETE", `${toPath(item.names, false)}?upload=${item.id}`).catch(() => {});
    onchange();
  }

  function pauseAll() {
    isPaused = true;
    items.forEach(pause);
  }

  function resumeAll() {
    isPaused = false;
    items.filter(({ state }) => state === "paused" || state === "failed").forEach((item) => item.state = "waiting");
    pump();
  }

  function clearFinished() {
    const rest = items.filter(({ state }) => !["done", "skipped", "canceled"].includes(state));
    items.splice(0, items.length, ...rest);
    onchange();
  }

  addEventListener("online", () => {
    wake.resolve();
    wake = Promise.withResolvers();
  });

  return { items, add, pause, resume, cancel, pauseAll, resumeAll, clearFinished, isPaused: () => isPaused };
}

async function ensureFolder(names) {
  try {
    await makeFolder(names);
  } catch (error) {
    // It is there already: that is what was wanted.
    if (error.code !== "already_exists") throw error;
  }
}

/** "photo.jpg" becomes "photo (2).jpg", and that "photo (3).jpg". */
function nextName(name) {
  const [, base, count, ending] = /^(.*?)(?: \((\d+)\))?(\.[^.]*)?$/s.exec(name);
  return `${base} (${Number(count ?? 1) + 1})${ending ?? ""}`;
}
