// @ts-check
// What stands around the list: the bar at the top, the way to the folder, and the tools.

import { openMenu } from "../../../../web/browser/menus.js";
import { createButton } from "../../../../web/browser/dialogs.js";
import { h, icon, iconButton, setText } from "../../../../web/browser/dom.js";
import { createCrumbs } from "./crumbs.js";
import { formatCount, formatName } from "../../../../web/browser/format.js";
import { toggleTheme } from "../../../../web/browser/theme.js";

/**
 * @typedef {import("./api.js").Share} Share
 * @typedef {import("./api.js").Names} Names
 * @typedef {import("../../../../web/browser/menus.js").MenuItem} MenuItem
 * @typedef {import("../list/list_view.js").Layout} Layout
 *
 * What the buttons do.
 * @typedef {object} FrameActions
 * @property {(text: string) => void} filter
 * @property {(query: string, isEverywhere: boolean) => void} search
 * @property {(names: Names) => void} navigate
 * @property {() => void} pickFiles
 * @property {() => void} pickFolder
 * @property {() => void} newFolder
 * @property {() => void} zipAll
 * @property {() => void} zipSelected
 * @property {() => void} moveSelected
 * @property {() => void} removeSelected
 * @property {() => void} selectAll
 * @property {() => void} clearSelection
 * @property {() => void} toggleLayout
 * @property {() => void} showTrash
 * @property {() => void} showHelp
 * @property {() => void} leave
 *
 * @typedef {object} FrameState
 * @property {Names} names
 * @property {string | null} searched
 * @property {number} selected how many entries are
 * @property {number} found
 * @property {string} summary
 * @property {Layout} layout
 */

/** The frame of the page. */
export class Frame {
  main = h("main", { "aria-label": "Folder" });
  field = h("input", {
    type: "search",
    id: "search",
    placeholder: "Filter, Enter searches below",
    "aria-label": "Filter this folder; Enter searches below it",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
  });
  dropOverlay = h("div", { class: "drop" }, h("div", {}, icon("upload"), h("strong", {}, "Drop to upload")));
  #share;
  #actions;
  #heading = h("h1", { class: "unseen" });
  #crumbs = h("nav", { class: "crumbs", "aria-label": "Folders above" });
  #summary = h("span", { class: "summary", role: "status" });
  #up = iconButton("left", "Back", () => this.#goBack(), { className: "tool upward" });
  #layout = iconButton("tiles", "Show as tiles", () => this.#actions.toggleLayout(), { className: "tool layout" });
  #scope = h("div", { class: "scope", hidden: true });
  #count = h("strong", { class: "count" });
  #plain;
  #selection;
  #busy = h("div", { class: "busy", hidden: true });
  #head;
  /** @type {Names} */
  #names = [];
  #isSearched = false;

  /**
   * @param {Share} share
   * @param {FrameActions} actions
   */
  constructor(share, actions) {
    this.#share = share;
    this.#actions = actions;
    this.field.addEventListener("input", () => actions.filter(this.field.value));
    this.field.addEventListener("keydown", (event) => event.key === "Enter" && actions.search(this.field.value, false));
    this.field.addEventListener("blur", () => this.#foldSearch());
    this.#plain = this.#createPlainTools();
    this.#selection = this.#createSelectionTools();
    this.#head = h(
      "header",
      { class: "head" },
      this.#createTop(),
      h(
        "div",
        { class: "deck" },
        h("div", { class: "way" }, this.#up, h("div", { class: "where" }, this.#crumbs, this.#summary)),
        this.#plain,
        this.#selection,
      ),
    );
    this.main.append(this.#heading, this.#scope);
    this.element = h("div", { class: "frame" }, this.#head, this.#busy, this.main);
  }

  /** @param {FrameState} state */
  update({ names, searched, selected, found, summary, layout }) {
    this.#names = names;
    this.#heading.textContent = formatName(names.at(-1) ?? this.#share.name);
    this.#crumbs.replaceChildren(
      ...createCrumbs({ names, searched, shareName: this.#share.name }, this.#actions.navigate),
    );
    this.#crumbs.scrollLeft = this.#crumbs.scrollWidth;
    setText(this.#summary, summary);
    this.#isSearched = searched !== null;
    this.#up.hidden = names.length === 0 && searched === null;
    this.#plain.hidden = selected > 0;
    this.#selection.hidden = selected === 0;
    this.#count.textContent = `${selected.toLocaleString()} selected`;
    this.#head.classList.toggle("selecting", selected > 0);
    this.#head.classList.toggle("searched", searched !== null);
    const label = layout === "tiles" ? "Show as a list" : "Show as tiles";
    this.#layout.replaceChildren(icon(layout === "tiles" ? "rows" : "tiles"));
    this.#layout.title = label;
    this.#layout.setAttribute("aria-label", label);
    this.#scope.hidden = searched === null;
    if (searched !== null) this.#scope.replaceChildren(...this.#createScope(names, searched, found));
  }

  /** @param {boolean} isBusy */
  setBusy(isBusy) {
    this.#busy.hidden = !isBusy;
  }

  /** Opens the field of the search, where it is folded away, and goes there. */
  focusSearch() {
    this.#head.classList.add("searching");
    this.field.focus();
    this.field.select();
  }

  /** From what a search found to the folder, and from a folder to the one above. */
  #goBack() {
    this.#actions.navigate(this.#isSearched ? this.#names : this.#names.slice(0, -1));
  }

  #foldSearch() {
    if (this.field.value === "") this.#head.classList.remove("searching");
  }

  /** @param {string} query */
  createSearchButton(query) {
    return createButton("Search below this folder", () => this.#actions.search(query, false));
  }

  #createTop() {
    const { writable, name } = this.#share;
    const close = iconButton("close", "Close the search", () => {
      this.field.value = "";
      this.field.dispatchEvent(new Event("input"));
      this.#head.classList.remove("searching");
    }, { className: "tool unsearch" });
    const more = iconButton("more", "More", () => openMenu(more, this.#listMore(), "More"), {
      "aria-haspopup": "menu",
      className: "tool overflow",
    });
    const leave = () => this.#actions.leave();
    return h(
      "div",
      { class: "top" },
      h("a", { class: "home", href: "/" }, icon("folder", "kind folder"), h("strong", {}, formatName(name))),
      h(
        "div",
        { class: "search" },
        h("label", { for: "search" }, icon("search")),
        this.field,
        h("kbd", { "aria-hidden": "true" }, "/"),
        close,
      ),
      h(
        "span",
        { class: "badge", title: writable ? "Visitors may change this share" : "Visitors may only read" },
        writable ? "Read and write" : "Read-only",
      ),
      iconButton("search", "Search", () => this.focusSearch(), { className: "tool seek" }),
      iconButton("moon", "Light or dark", toggleTheme, { className: "tool theme" }),
      this.#share.protected ? iconButton("signout", "Sign out", leave, { className: "tool signout" }) : null,
      more,
    );
  }

  /** What has no room in the bar, and on a phone all that is seldom used. */
  #listMore() {
    const { writable } = this.#share;
    const actions = this.#actions;
    const isPhone = getComputedStyle(this.#layout).display === "none";
    /** @type {(MenuItem & { isShown: boolean })[]} */
    const items = [
      { icon: "check", label: "Select all", action: actions.selectAll, hint: "Ctrl A", isShown: true },
      { icon: "newfolder", label: "New folder", action: actions.newFolder, isShown: isPhone && writable },
      {
        icon: "tiles",
        label: this.#layout.title,
        action: actions.toggleLayout,
        isShown: isPhone,
      },
      { icon: "download", label: "Download as zip", action: actions.zipAll, isShown: isPhone },
      { icon: "trash", label: "Recently deleted", action: actions.showTrash, isShown: writable },
      { icon: "moon", label: "Light or dark", action: toggleTheme, isShown: isPhone },
      { icon: "keyboard", label: "Keys", action: actions.showHelp, hint: "?", isShown: true },
      { icon: "signout", label: "Sign out", action: actions.leave, isShown: isPhone && this.#share.protected },
    ];
    return items.filter(({ isShown }) => isShown);
  }

  #createPlainTools() {
    const { zipAll, newFolder, pickFiles, pickFolder } = this.#actions;
    const zip = iconButton("download", "Download all of this as zip", () => zipAll(), {
      text: "Zip",
      className: "button",
    });
    if (!this.#share.writable) return h("div", { class: "tools" }, this.#layout, zip);
    const upload = iconButton(
      "upload",
      "Upload files or a folder",
      () =>
        openMenu(upload, [
          { icon: "file", label: "Files…", action: pickFiles },
          { icon: "folder", label: "A folder…", action: pickFolder },
        ], "Upload"),
      { text: "Upload", className: "primary upload", "aria-haspopup": "menu" },
    );
    return h(
      "div",
      { class: "tools" },
      this.#layout,
      zip,
      iconButton("newfolder", "Make a folder here", () => newFolder(), { text: "New folder", className: "button" }),
      upload,
    );
  }

  #createSelectionTools() {
    const { zipSelected, moveSelected, removeSelected, clearSelection } = this.#actions;
    const className = "button";
    /** @type {Node[]} */
    const tools = [
      this.#count,
      iconButton("download", "Download what is selected", () => zipSelected(), { text: "Download", className }),
    ];
    if (this.#share.writable) {
      tools.push(
        iconButton("move", "Move what is selected", () => moveSelected(), { text: "Move", className }),
        iconButton("trash", "Delete what is selected", () => removeSelected(), {
          text: "Delete",
          className: "button dangerous",
        }),
      );
    }
    tools.push(iconButton("close", "Select nothing", () => clearSelection(), { className: "tool unselect" }));
    return h("div", { class: "tools selection", hidden: true }, ...tools);
  }

  /**
   * What a search looked through, and what can be done with all that it found.
   * @param {Names} names
   * @param {string} query
   * @param {number} found
   */
  #createScope(names, query, found) {
    const { navigate, search } = this.#actions;
    const here = h("button", { type: "button", "aria-pressed": "true" }, `In “${formatName(names.at(-1) ?? "")}”`);
    const everywhere = h("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => search(query, true),
    }, "Everywhere");
    return [
      h("span", { class: "words" }, `${formatCount(found, "hit")} for “${query}”`),
      names.length === 0
        ? h("span", {})
        : h("div", { class: "switch", role: "group", "aria-label": "Where to search" }, here, everywhere),
      createButton("Back to the folder", () => navigate(names)),
    ];
  }
}
