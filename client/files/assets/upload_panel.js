// The panel that shows how uploads go.

import { h, icon, iconButton } from "./dom.js";
import { formatBytes, formatCount, formatSpan } from "./format.js";

/** Rows shown at most; a folder of thousands of files needs no row for each. */
const MAX_ROWS = 60;
const ORDER = ["failed", "asking", "sending", "retrying", "paused", "waiting", "skipped", "done"];
const WORDS = {
  waiting: "Waiting",
  sending: "",
  retrying: "Connection lost, trying again…",
  paused: "Paused",
  asking: "There is one already",
  done: "Done",
  failed: "Failed",
  skipped: "Skipped",
};

/** Makes the panel for a queue. `update()` may be called as often as anything changes. */
export function createUploadPanel(getQueue) {
  const title = h("strong", {});
  const detail = h("span", { class: "detail" });
  const bar = h("div", { class: "bar" }, h("i", {}));
  const list = h("ul", {});
  const toggleAll = iconButton(
    "pause",
    "Pause all",
    () => isResumable() ? getQueue().resumeAll() : getQueue().pauseAll(),
  );
  const close = iconButton("close", "Close", () => {
    getQueue().clearFinished();
    if (getQueue().items.length > 0) list.hidden = !list.hidden;
  });
  const element = h(
    "aside",
    { class: "uploads", "aria-label": "Uploads", hidden: true },
    h("header", {}, h("div", { class: "words", "aria-live": "polite" }, title, detail), toggleAll, close),
    bar,
    list,
  );
  const speed = createSpeed();
  let isDue = false;

  function isResumable() {
    const queue = getQueue();
    return queue.isPaused() || !queue.items.some(({ state }) => ["sending", "waiting", "retrying"].includes(state));
  }

  function update() {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      render();
    }, 100);
  }

  function render() {
    const queue = getQueue();
    const { items } = queue;
    element.hidden = items.length === 0;
    if (items.length === 0) return;
    const counts = countStates(items);
    const total = items.reduce((sum, { size }) => sum + (size ?? 0), 0);
    const sent = items.reduce((sum, { state, size, sent }) => sum + (state === "done" ? size : sent), 0);
    const left = items.length - (counts.done ?? 0) - (counts.skipped ?? 0);
    title.textContent = left === 0
      ? `${formatCount(counts.done ?? 0, "file")} uploaded`
      : `Uploading ${formatCount(left, "file")}`;
    const finished = items.length - left;
    // Of a dropped folder the sizes come to light one by one; until then files are counted.
    const isSized = items.every(({ size }) => size !== null);
    bar.firstChild.style.width = `${100 * (isSized && total > 0 ? sent / total : finished / items.length)}%`;
    detail.textContent = describe(counts, sent, isSized ? total : null, speed.measure(sent), left);
    element.classList.toggle("finished", left === 0);
    const canResume = isResumable();
    toggleAll.hidden = left === 0;
    toggleAll.replaceChildren(icon(canResume ? "play" : "pause"));
    toggleAll.title = canResume ? "Resume all" : "Pause all";
    toggleAll.setAttribute("aria-label", toggleAll.title);
    list.replaceChildren(...pickRows(items).map((item) => createRow(queue, item)));
    if (left > 0 && counts.sending) update();
  }

  return { element, update };
}

function countStates(items) {
  const counts = {};
  for (const { state } of items) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

function describe(counts, sent, total, perSecond, left) {
  const parts = [total === null ? formatBytes(sent) : `${formatBytes(sent)} of ${formatBytes(total)}`];
  if (counts.failed) parts.push(formatCount(counts.failed, "problem"));
  if (counts.retrying) parts.push("trying again…");
  else if (left > 0 && perSecond > 0) {
    parts.push(`${formatBytes(perSecond)}/s`);
    if (total !== null) parts.push(`${formatSpan((total - sent) / perSecond)} left`);
  }
  return parts.join(" · ");
}

function pickRows(items) {
  const byState = new Map(ORDER.map((state) => [state, []]));
  for (const item of items) byState.get(item.state)?.push(item);
  byState.get("done").reverse();
  return ORDER.flatMap((state) => byState.get(state)).slice(0, MAX_ROWS);
}

function createRow(queue, item) {
  const share = item.state === "done" || item.size === 0 ? 100 : (100 * item.sent) / (item.size ?? Infinity);
  const words = item.problem || WORDS[item.state] ||
    `${formatBytes(item.sent)}${item.size === null ? "" : ` of ${formatBytes(item.size)}`}`;
  const fill = h("i", {});
  fill.style.width = `${share}%`;
  return h(
    "li",
    { class: item.state },
    h("div", { class: "words" }, h("b", { title: item.names.join("/") }, item.names.at(-1)), h("span", {}, words)),
    ...createRowButtons(queue, item),
    h("div", { class: "bar" }, fill),
  );
}

function createRowButtons(queue, item) {
  if (item.state === "done") return [icon("check", "ok")];
  const cancel = iconButton("close", "Cancel", () => queue.cancel(item));
  if (["waiting", "sending", "retrying"].includes(item.state)) {
    return [iconButton("pause", "Pause", () => queue.pause(item)), cancel];
  }
  if (item.state === "paused") return [iconButton("play", "Resume", () => queue.resume(item)), cancel];
  if (item.state === "failed") return [iconButton("retry", "Try again", () => queue.resume(item)), cancel];
  return [cancel];
}

/** Bytes a second over the last few seconds. */
function createSpeed() {
  const samples = [];
  return {
    measure(sent) {
      const now = performance.now();
      samples.push([now, sent]);
      while (samples.length > 2 && now - samples[0][0] > 4000) samples.shift();
      const [then, before] = samples[0];
      return now - then < 300 ? 0 : Math.max(0, ((sent - before) * 1000) / (now - then));
    },
  };
}
