// @ts-check
// Light or dark: as the system has it, unless somebody chose here.

const KEPT_AS = "portway-theme";
const kept = localStorage.getItem(KEPT_AS);
if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;

/** The other of the two, for this visit and later ones. */
export function toggleTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem(KEPT_AS, root.dataset.theme);
}
