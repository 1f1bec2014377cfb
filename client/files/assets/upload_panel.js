// The panel that shows how uploads go.

import { h, icon, iconButton } from "./dom.js";
import { formatBytes, formatCount, formatName, formatSpan } from "./format.js";

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

/** States of items that will go on by themselves. */
const MOVING = ["sending", "waiting", "retrying", "asking"];
const ENDED = ["done", "skipped", "failed"];

/** Makes the panel for a queue. `update()` may be called as often as anything changes. */
export function createUploadPanel(getQueue) {
  const title = h("strong", {});
  const detail = h("span", { class: "detail" });
  const bar = h("div", { class: "bar" }, h("i", {}));
  const list = h("ul", {});
  const tools = {
    pause: iconButton("pause", "Pause all", () => getQueue().pauseAll()),
    resume: iconButton("play", "Resume all", () => getQueue().resumeAll()),
    retry: iconButton("retry", "Try all again", () => getQueue().retryAll()),
    clear: iconButton("trash", "Clear what failed", () => getQueue().clear(["failed"])),
    fold: iconButton("fold", "Fold", () => fold(true)),
    unfold: iconButton("unfold", "Unfold", () => fold(false)),
    close: iconButton("close", "Close", () => getQueue().clear(ENDED)),
  };
  const element = h(
    "aside",
    { class: "uploads", "aria-label": "Uploads", hidden: true },
    h("header", {}, h("div", { class: "words", "aria-live": "polite" }, title, detail), ...Object.values(tools)),
    bar,
    list,
  );
  const speed = createSpeed();
  let isDue = false;

  function fold(isFolded) {
    list.hidden = isFolded;
    render();
    (isFolded ? tools.unfold : tools.fold).focus();
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
    const { items } = getQueue();
    element.hidden = items.length === 0;
    if (items.length === 0) {
      list.hidden = false;
      return;
    }
    const counts = countItems(items);
    const progress = measure(items);
    if (!counts.sending) speed.reset();
    title.textContent = nameState(counts);
    detail.textContent = describe(counts, progress, speed.measure(progress.sent));
    bar.firstChild.style.width = `${100 * progress.share}%`;
    element.classList.toggle("finished", counts.open === 0 && !counts.failed);
    element.classList.toggle("broken", counts.open === 0 && counts.failed > 0);
    tools.pause.hidden = counts.moving === 0;
    tools.resume.hidden = counts.moving > 0 || !counts.paused;
    tools.retry.hidden = tools.clear.hidden = !counts.failed;
    tools.fold.hidden = counts.open === 0 || list.hidden;
    tools.unfold.hidden = counts.open === 0 || !list.hidden;
    tools.close.hidden = counts.open > 0;
    list.replaceChildren(...pickRows(items).map((item) => createRow(getQueue(), item)));
    if (counts.sending) update();
  }

  return { element, update };
}

/** How many items there are of each state, how many of them move, and how many may still become uploads. */
function countItems(items) {
  const counts = {};
  for (const { state } of items) counts[state] = (counts[state] ?? 0) + 1;
  const moving = MOVING.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  return { ...counts, moving, open: moving + (counts.paused ?? 0) };
}

/** Bytes sent, bytes in all or null while they are not known, and the share that is done, 0 to 1. */
function measure(items) {
  const sent = items.reduce((sum, { state, size, sent }) => {
    // What of a failed file went out is of no use to anybody.
    return sum + (state === "done" ? size : state === "failed" ? 0 : sent);
  }, 0);
  // Of a dropped folder the sizes come to light one by one; until then files are counted.
  const total = items.every(({ size }) => size !== null) ? items.reduce((sum, { size }) => sum + size, 0) : null;
  const ended = items.filter(({ state }) => state === "done" || state === "skipped").length;
  return { sent, total, share: total > 0 ? sent / total : ended / items.length };
}

function nameState({ moving, open, failed = 0, done = 0 }) {
  if (open === 0) {
    return failed > 0 ? `${formatCount(failed, "upload")} failed` : `${formatCount(done, "file")} uploaded`;
  }
  const state = moving > 0 ? `Uploading ${formatCount(open, "file")}` : `${formatCount(open, "upload")} paused`;
  return failed > 0 ? `${state}, ${failed.toLocaleString()} failed` : state;
}

function describe(counts, { sent, total }, perSecond) {
  const parts = [total === null ? formatBytes(sent) : `${formatBytes(sent)} of ${formatBytes(total)}`];
  if (counts.retrying) parts.push("trying again…");
  else if (counts.sending && perSecond > 0) {
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
    h(
      "div",
      { class: "words" },
      h("b", { title: formatName(item.names.join("/")) }, formatName(item.names.at(-1))),
      h("span", {}, words),
    ),
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
    /** Forgets what was before a rest. */
    reset: () => samples.length = 0,
    measure(sent) {
      const now = performance.now();
      samples.push([now, sent]);
      while (samples.length > 2 && now - samples[0][0] > 4000) samples.shift();
      const [then, before] = samples[0];
      return now - then < 300 ? 0 : Math.max(0, ((sent - before) * 1000) / (now - then));
    },
  };
}
