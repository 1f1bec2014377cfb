// @ts-check
// Questions that need more than yes or no.

import { fetchFolder, fetchTrash, requestFolder, tellFailure, toNames, toPath } from "../parts/api.js";
import { checkName, createButton, openDialog } from "../../../../web/browser/dialogs.js";
import { h, icon } from "../../../../web/browser/dom.js";
import { formatDate, formatName, formatNames, formatSize } from "../../../../web/browser/format.js";
import { hasLetters, setLetters } from "../list/keys.js";

/**
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("../parts/api.js").Trashed} Trashed
 * @typedef {import("./batch.js").Choice} Choice
 */

/**
 * Asks what to do where names are taken: one question at a time, and none after an answer for all.
 */
export class ConflictQuestion {
  /** @type {Choice | null} */
  #forAll = null;
  /** @type {Promise<Choice>} */
  #last = Promise.resolve("skip");

  /**
   * @param {string} name that is taken
   * @param {{ verb: "upload" | "move", canReplace?: boolean }} about
   * @returns {Promise<Choice>}
   */
  ask(name, about) {
    const answer = this.#last.then(() => this.#forAll ?? this.#open(name, about));
    this.#last = answer.catch(() => "skip");
    return answer;
  }

  /** Begins anew: what was said for all was for those before. */
  forget() {
    this.#forAll = null;
  }

  /**
   * @param {string} name
   * @param {{ verb: "upload" | "move", canReplace?: boolean }} about
   */
  async #open(name, { verb, canReplace = true }) {
    const every = h("input", { type: "checkbox" });
    const choice = await openDialog(
      /** @param {(value: Choice | null) => void} finish */
      (finish) => [
        h("p", {}, `What should be done with the one that you ${verb}?`),
        h("label", { class: "check" }, every, "Do this for all that follow"),
        h(
          "div",
          { class: "buttons" },
          createButton("Skip", () => finish("skip")),
          createButton("Keep both", () => finish("keep"), "button", true),
          canReplace ? createButton("Replace", () => finish("replace"), "danger") : null,
        ),
      ],
      { title: `“${formatName(name)}” is there already` },
    ) ?? "skip";
    if (every.checked) this.#forAll = choice;
    return choice;
  }
}

/**
 * Asks for a folder of the share to move something to, as names; null when dismissed.
 * @param {{ moved: readonly Names[], start: Names, shareName: string }} question `moved`: what is to be moved, which
 *   cannot be moved into itself
 * @returns {Promise<Names | null>}
 */
export function chooseFolder({ moved, start, shareName }) {
  const label = formatNames(moved.map((names) => names.at(-1) ?? ""));
  return openDialog((finish) => new FolderChooser(moved, start, shareName, finish).nodes, {
    title: `Move ${label} to`,
  });
}

/** The folders of a share, one at a time, with a way to make one. */
class FolderChooser {
  /** @type {Names} */
  #here = [];
  #moved;
  #shareName;
  #way = h("p", { class: "place", "aria-live": "polite" });
  #list = h("div", { class: "folders" });
  #field = h("input", {
    type: "text",
    "aria-label": "Name of the new folder",
    placeholder: "New folder",
    spellcheck: "false",
  });
  #problem = h("p", { class: "problem", role: "alert" });
  #accept;

  /**
   * @param {readonly Names[]} moved
   * @param {Names} start
   * @param {string} shareName
   * @param {(names: Names | null) => void} finish
   */
  constructor(moved, start, shareName, finish) {
    this.#moved = moved;
    this.#shareName = shareName;
    this.#accept = createButton("Move here", () => finish(this.#here), "primary");
    const form = h(
      "form",
      { class: "make" },
      this.#field,
      h("button", { type: "submit", class: "button" }, icon("newfolder"), "Make"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#make();
    });
    this.nodes = [
      this.#way,
      this.#list,
      form,
      this.#problem,
      h("div", { class: "buttons" }, createButton("Cancel", () => finish(null)), this.#accept),
    ];
    this.#go(start);
  }

  /** @param {Names} names */
  async #go(names) {
    const isField = document.activeElement === this.#field && this.#field.value !== "";
    this.#here = names;
    this.#way.textContent = [this.#shareName, ...names].map(formatName).join(" / ");
    this.#problem.textContent = "";
    this.#accept.disabled = this.#isInPlace();
    this.#accept.title = this.#isInPlace() ? "It is in this folder already" : "";
    const entries = await this.#read(names);
    if (this.#here !== names) return;
    const closed = this.#moved.map((moved) => toPath(moved, true));
    const folders = entries.filter(({ kind }) => kind === "folder").map(({ name }) => [...names, name])
      .filter((folder) => !closed.includes(toPath(folder, true)));
    const up = names.length === 0 ? [] : [this.#createChoice("up", "One folder up", names.slice(0, -1))];
    const choices = [...up, ...folders.map((folder) => this.#createChoice("folder", folder.at(-1) ?? "", folder))];
    this.#list.replaceChildren(...(choices.length > 0 ? choices : [h("p", {}, "There is no folder in this one.")]));
    // Who goes through the folders with the keys goes on; who is typing a name is left in peace.
    if (!isField && !this.#accept.matches(":focus")) choices[0]?.focus();
  }

  /** @param {Names} names */
  async #read(names) {
    try {
      return (await fetchFolder(names)).entries;
    } catch (error) {
      this.#problem.textContent = tellFailure(error);
      return [];
    }
  }

  #isInPlace() {
    const here = toPath(this.#here, true);
    return this.#moved.every((names) => toPath(names.slice(0, -1), true) === here);
  }

  async #make() {
    const name = this.#field.value;
    this.#problem.textContent = checkName(name) ?? "";
    if (this.#problem.textContent !== "") return;
    try {
      await requestFolder([...this.#here, name]);
      this.#field.value = "";
      await this.#go([...this.#here, name]);
      this.#accept.focus();
    } catch (error) {
      this.#problem.textContent = tellFailure(error);
    }
  }

  /**
   * @param {string} iconName
   * @param {string} label
   * @param {Names} names
   */
  #createChoice(iconName, label, names) {
    return h(
      "button",
      { type: "button", onclick: () => this.#go(names) },
      icon(iconName, iconName === "folder" ? "kind folder" : ""),
      h("span", {}, formatName(label)),
    );
  }
}

/**
 * Shows what was deleted and can be put back.
 * @param {{ restore: (items: readonly Trashed[]) => Promise<void>, empty: () => Promise<void> }} actions
 */
export async function showTrash({ restore, empty }) {
  const items = await fetchTrash();
  const text = items.length === 0
    ? "Nothing was deleted."
    : "What was deleted can be put back for an hour, while the share is open.";
  const chosen = await openDialog(
    /** @param {(value: readonly Trashed[] | "all" | null) => void} finish */
    (finish) => [
      h("p", {}, text),
      h(
        "ul",
        { class: "trashed", tabIndex: items.length > 0 ? 0 : null },
        ...items.map((item) => createTrashedRow(item, finish)),
      ),
      h(
        "div",
        { class: "buttons" },
        items.length > 0 ? createButton("Delete all for good", () => finish("all"), "danger") : null,
        createButton("Close", () => finish(null), "primary", true),
      ),
    ],
    { title: "Recently deleted" },
  );
  if (chosen === "all") await empty();
  else if (chosen !== null) await restore(chosen);
}

/**
 * @param {Trashed} item
 * @param {(value: readonly Trashed[] | "all" | null) => void} finish
 */
function createTrashedRow(item, finish) {
  const names = toNames(item.path);
  const place = names.slice(0, -1).map(formatName).join(" / ");
  const size = item.kind === "folder" ? "folder" : formatSize(item.size);
  return h(
    "li",
    {},
    icon(item.kind === "folder" ? "folder" : "file", `kind ${item.kind === "folder" ? "folder" : ""}`),
    h(
      "div",
      { class: "words" },
      h("b", {}, formatName(names.at(-1) ?? "")),
      h("span", {}, [place, size, formatDate(item.deleted)].filter((part) => part !== "").join(" · ")),
    ),
    createButton("Put back", () => finish([item])),
  );
}

/** @type {readonly (readonly [string, string])[]} */
const KEYS = [
  ["↑ ↓", "Go through the list"],
  ["Enter", "Open"],
  ["Backspace", "One folder up"],
  ["Space", "Select"],
  ["Shift ↑ ↓", "Select more"],
  ["Ctrl A", "Select all"],
  ["Shift F10", "Menu; the Menu key too"],
  ["F2", "Rename"],
  ["Delete", "Delete"],
  ["← →", "Previous and next in the preview"],
  ["Esc", "Close, or select nothing"],
];
/** @type {readonly (readonly [string, string])[]} */
const LETTERS = [["/", "Filter; Enter searches below"], ["N", "New folder"], ["U", "Upload"], ["?", "This help"]];

/** Shows what the keys do, and lets the single characters be switched off. */
export function showHelp() {
  const toggle = h("input", { type: "checkbox" });
  toggle.checked = hasLetters();
  toggle.addEventListener("change", () => setLetters(toggle.checked));
  /** @param {readonly (readonly [string, string])[]} keys */
  const list = (keys) =>
    h("dl", { class: "keys" }, ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]));
  return openDialog(
    (finish) => [
      list(KEYS),
      h("label", { class: "check" }, toggle, "Single characters do something"),
      list(LETTERS),
      h("div", { class: "buttons" }, createButton("Close", () => finish(null), "primary", true)),
    ],
    { title: "Keys" },
  );
}
