// @ts-check
// Light or dark: the system's setting, unless the user chose one here.

const KEPT_AS = "portway-theme";
const kept = localStorage.getItem(KEPT_AS);
if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;

/** Switches between light and dark, for this visit and later ones. */
export function toggleTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem(KEPT_AS, root.dataset.theme);
}
