// Questions that need more than yes or no.

import { fetchFolder, toPath } from "./api.js";
import { openDialog } from "./dialogs.js";
import { h, icon } from "./dom.js";
import { formatName } from "./format.js";

let forAll = null;
let asking = Promise.resolve();

/** What to do with an upload whose name is taken: "replace", "keep" or "skip". One question at a time. */
export function askConflict(item) {
  const answer = asking.then(() => forAll ?? ask(item));
  asking = answer;
  return answer;
}

async function ask(item) {
  const every = h("input", { type: "checkbox" });
  const choice = await openDialog((finish) => [
    h("h2", {}, `“${formatName(item.names.at(-1))}” is there already`),
    h("p", {}, "What should be done with the one that you upload?"),
    h("label", { class: "check" }, every, "Do this for all files of this visit"),
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "button", onclick: () => finish("skip") }, "Skip"),
      h("button", { type: "button", class: "button", onclick: () => finish("keep") }, "Keep both"),
      h("button", { type: "button", class: "danger", onclick: () => finish("replace") }, "Replace"),
    ),
  ]) ?? "skip";
  if (every.checked) forAll = choice;
  return choice;
}

/** Asks for a folder of the share, as names; null when dismissed. Folders in `closed` cannot be entered. */
export function chooseFolder(start, closed, shareName) {
  return openDialog((finish) => {
    const title = h("strong", {});
    const list = h("div", { class: "folders" });
    let here = start;
    async function go(target) {
      here = target;
      title.textContent = [shareName, ...target].join(" / ");
      const { entries } = await fetchFolder(target).catch(() => ({ entries: [] }));
      if (here !== target) return;
      const folders = entries.filter(({ kind }) => kind === "folder").map(({ name }) => [...target, name]);
      const up = target.length === 0 ? [] : [createChoice("up", "One up", () => go(target.slice(0, -1)))];
      list.replaceChildren(
        ...up,
        ...folders.filter((names) => !closed.includes(toPath(names, true)))
          .map((names) => createChoice("folder", formatName(names.at(-1)), () => go(names))),
      );
    }
    go(start);
    return [
      h("h2", {}, "Move to"),
      title,
      list,
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", class: "button", onclick: () => finish(null) }, "Cancel"),
        h("button", { type: "button", class: "primary", onclick: () => finish(here) }, "Move here"),
      ),
    ];
  });
}

function createChoice(name, label, onclick) {
  return h("button", { type: "button", onclick }, icon(name, name === "folder" ? "kind folder" : ""), label);
}

const KEYS = [
  ["↑ ↓", "Go through the list"],
  ["Enter", "Open"],
  ["Backspace", "One folder up"],
  ["Space", "Select"],
  ["Shift ↑ ↓", "Select more"],
  ["Ctrl A", "Select all"],
  ["/", "Filter; Enter searches below"],
  ["← →", "Previous and next in the preview"],
  ["F2", "Rename"],
  ["Delete", "Delete"],
  ["N", "New folder"],
  ["U", "Upload"],
  ["Esc", "Close, or select nothing"],
];

/** Shows what the keys do. */
export function showHelp() {
  return openDialog((finish) => [
    h("h2", {}, "Keys"),
    h("dl", { class: "keys" }, ...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "primary", onclick: () => finish(null) }, "Close"),
    ),
  ]);
}
