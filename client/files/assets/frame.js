// What stands around the list: the top bar, the way to the folder, and the tools.

import { toPath } from "./api.js";
import { openMenu } from "./dialogs.js";
import { h, icon, iconButton } from "./dom.js";
import { formatName } from "./format.js";

/** Makes the frame. `actions` are what its buttons do. */
export function createFrame(share, actions) {
  const field = h("input", {
    type: "search",
    placeholder: "Filter, Enter searches below",
    "aria-label": "Filter this folder; Enter searches below it",
    autocomplete: "off",
    spellcheck: "false",
  });
  field.addEventListener("input", () => actions.onfilter(field.value));
  field.addEventListener("keydown", (event) => event.key === "Enter" && actions.onsearch(field.value));
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Folders above" });
  const summary = h("span", { class: "summary", "aria-live": "polite" });
  const plain = createPlainTools(share, actions);
  const selection = createSelectionTools(share, actions);
  const busy = h("div", { class: "busy", hidden: true });
  const main = h("main", {});
  const element = h(
    "div",
    { class: "frame" },
    createTop(share, actions, field),
    h("div", { class: "deck" }, h("div", { class: "way" }, crumbs, summary), plain, selection),
    busy,
    main,
  );

  function update({ names, searched, selected, summary: text }) {
    crumbs.replaceChildren(...createCrumbs(share, names, searched, actions.navigate));
    crumbs.scrollLeft = crumbs.scrollWidth;
    summary.textContent = text;
    plain.hidden = selected.length > 0;
    selection.hidden = selected.length === 0;
    for (const button of selection.querySelectorAll("[data-here]")) button.hidden = searched !== null;
  }

  function createSearchButton(query) {
    return h(
      "button",
      { type: "button", class: "button", onclick: () => actions.onsearch(query) },
      "Search below this folder",
    );
  }

  return {
    element,
    main,
    field,
    update,
    createSearchButton,
    dropOverlay: h("div", { class: "drop" }, h("div", {}, icon("upload"), h("strong", {}, "Drop to upload"))),
    setBusy: (isBusy) => busy.hidden = !isBusy,
  };
}

function createTop(share, actions, field) {
  const theme = iconButton("moon", "Light or dark", toggleTheme);
  const leave = share.protected ? iconButton("signout", "Sign out", actions.leave) : null;
  return h(
    "header",
    { class: "top" },
    h("a", { class: "home", href: "/" }, icon("folder", "kind folder"), h("strong", {}, share.name)),
    h("label", { class: "search" }, icon("search"), field, h("kbd", {}, "/")),
    h(
      "span",
      { class: "badge", title: share.writable ? "Visitors may change this share" : "Visitors may only read" },
      share.writable ? "Read and write" : "Read-only",
    ),
    theme,
    leave,
  );
}

function createPlainTools(share, { pickFiles, pickFolder, newFolder, zipAll }) {
  const zip = iconButton("download", "Download this folder as zip", zipAll, { text: "Zip", className: "button" });
  if (!share.writable) return h("div", { class: "tools" }, zip);
  const upload = iconButton(
    "upload",
    "Upload",
    () => openMenu(upload, [["file", "Files…", pickFiles], ["folder", "A folder…", pickFolder]]),
    { text: "Upload", className: "primary" },
  );
  return h(
    "div",
    { class: "tools" },
    zip,
    iconButton("newfolder", "New folder", newFolder, { text: "New folder", className: "button" }),
    upload,
  );
}

function createSelectionTools(share, { zipSelected, moveSelected, removeSelected, clearSelection }) {
  const className = "button";
  const tools = [iconButton("download", "Download what is selected", zipSelected, { text: "Download", className })];
  if (share.writable) {
    tools.push(
      iconButton("move", "Move what is selected", moveSelected, { text: "Move", className }),
      iconButton("trash", "Delete what is selected", removeSelected, { text: "Delete", className: "button dangerous" }),
    );
  }
  tools.push(iconButton("close", "Select nothing", clearSelection));
  return h("div", { class: "tools", hidden: true }, ...tools);
}

function createCrumbs(share, names, searched, navigate) {
  const crumb = (label, target, isLast) => {
    const link = h("a", { href: toPath(target, true), "aria-current": isLast ? "page" : undefined }, ...label);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      navigate(target);
    });
    return link;
  };
  const all = names.map((name, index) =>
    crumb([formatName(name)], names.slice(0, index + 1), index === names.length - 1)
  );
  const parts = [crumb([icon("home"), h("span", { class: "sr" }, share.name)], [], names.length === 0), ...all];
  const spaced = parts.flatMap((part, index) => index === 0 ? [part] : [icon("right", "gap"), part]);
  return searched === null ? spaced : [...spaced, icon("right", "gap"), h("em", {}, `“${searched}”`)];
}

const kept = localStorage.getItem("portway-theme");
if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;

function toggleTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("portway-theme", root.dataset.theme);
}
