// @ts-check

/**
 * Menus, which are details elements, close by Escape and when something else is chosen.
 * @param {Document} page
 */
export function watchMenus(page) {
  page.addEventListener("click", ({ target }) => {
    for (const menu of openMenus(page)) if (target instanceof Node && !menu.contains(target)) menu.open = false;
  });
  page.addEventListener("focusin", ({ target }) => {
    for (const menu of openMenus(page)) if (target instanceof Node && !menu.contains(target)) menu.open = false;
  });
  page.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    for (const menu of openMenus(page)) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
}

/** @param {Document} page */
function openMenus(page) {
  return /** @type {NodeListOf<HTMLDetailsElement>} */ (page.querySelectorAll("details.menu[open]"));
}
