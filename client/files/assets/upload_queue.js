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
    while (running < PARALLEL) {
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

  /** Works on an item until it is done, failed or stopped; an item that goes on later gets a run of its own. */
  async function run(item) {
    item.abort = new AbortController();
    const { signal } = item.abort;
    set(item, "sending");
    try {
      if (item.source === null) await ensureFolder(item.names, signal);
      else if (!await upload(item, signal)) return set(item, "skipped");
      signal.throwIfAborted();
      set(item, "done");
      item.source = null;
      onfinished(item);
    } catch (error) {
      if (!signal.aborted) fail(item, error);
    }
  }

  function fail(item, error) {
    item.problem = error instanceof ApiError ? error.message : "The file could not be read.";
    set(item, "failed");
  }

  /** Sends a file, whatever the network does meanwhile; false when one of that name is there and is to stay. */
  async function upload(item, signal) {
    const file = await item.source();
    signal.throwIfAborted();
    item.size = file.size;
    // What was sent before a pause may not all have arrived.
    if (item.sent > 0 && await findOffset(item, file, signal)) return true;
    for (let tries = 0;;) {
      const before = item.sent;
      try {
        if (await sendFile(item, file, signal)) return true;
      } catch (error) {
        if (signal.aborted) throw error;
        if (error.status === 412 && item.mode === "new") {
          if (await settleConflict(item, signal)) continue;
          return false;
        }
        const isMoved = error.status === 409 && error.code.startsWith("upload_");
        if (!PASSING.has(error.status) && !isMoved && error.code !== "upload_cut") throw error;
        tries = item.sent > before ? 0 : tries + 1;
        set(item, "retrying");
        await waitToRetry(tries, signal);
      }
      if (await findOffset(item, file, signal)) return true;
    }
  }

  /** Sends what is missing; true when the file is complete. */
  async function sendFile(item, file, signal) {
    set(item, "sending");
    if (file.size <= SLICE) {
      await sendPart(item, file, { start: 0, end: file.size, signal, onchange });
      return true;
    }
    while (item.sent < file.size) {
      const end = Math.min(item.sent + SLICE, file.size);
      const status = await sendPart(item, file, { start: item.sent, end, signal, onchange });
      item.sent = end;
      if (status !== 202) return true;
    }
    return false;
  }

  /** Asks how much of a file is there; true when all of it is, and the answer that said so was lost. */
  async function findOffset(item, file, signal) {
    try {
      const path = `${toPath(item.names, false)}?upload=${item.id}`;
      const { headers } = await send("HEAD", path, { signal });
      const offset = Number(headers.get("upload-offset") ?? 0);
      // A small file is sent whole, so it begins anew.
      item.sent = file.size > SLICE ? Math.min(offset, file.size) : 0;
      return headers.get("upload-complete") === "?1" && offset === file.size;
    } catch (error) {
      if (signal.aborted) throw error;
      // Not reachable yet: the next part will fail and ask again.
      return false;
    }
  }

  /** Asks what to do about a file of that name; false when the upload is to be left out. */
  async function settleConflict(item, signal) {
    set(item, "asking");
    const choice = await onconflict(item);
    signal.throwIfAborted();
    if (choice === "skip") {
      item.problem = "Skipped: it is there already.";
      return false;
    }
    if (choice === "replace") item.mode = "replace";
    else item.names = [...item.names.slice(0, -1), nextName(item.names.at(-1))];
    item.sent = 0;
    return true;
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
    const isBegun = item.sent > 0 && !["done", "skipped"].includes(item.state);
    stop(item, "canceled");
    items.splice(items.indexOf(item), 1);
    if (isBegun) send("DELETE", `${toPath(item.names, false)}?upload=${item.id}`).catch(() => {});
    onchange();
  }

  function pauseAll() {
    items.forEach(pause);
  }

  function resumeAll() {
    restart("paused");
  }

  function retryAll() {
    restart("failed");
  }

  function restart(state) {
    for (const item of items.filter((item) => item.state === state)) {
      item.problem = "";
      item.state = "waiting";
    }
    pump();
  }

  function clear(states) {
    for (const item of items.filter(({ state }) => states.includes(state))) cancel(item);
  }

  return { items, add, pause, resume, cancel, pauseAll, resumeAll, retryAll, clear };
}

/** Waits until it is time for another try or the network is back; throws when `signal` aborts. */
function waitToRetry(tries, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, RETRY_MS[Math.min(tries, RETRY_MS.length) - 1] ?? RETRY_MS[0]);
    addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}

async function ensureFolder(names, signal) {
  try {
    await makeFolder(names, signal);
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
