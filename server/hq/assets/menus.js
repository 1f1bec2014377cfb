// @ts-check

/**
 * Closes menus, which are details elements, on Escape and on a choice elsewhere.
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
