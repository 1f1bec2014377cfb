// @ts-check

/**
 * Makes links with `data-dialog` open their dialog at once, without loading the page again.
 * @param {Document} page
 */
export function watchDialogs(page) {
  // The server sends a dialog open when the address asks for it. As a modal it covers the page.
  for (const dialog of page.querySelectorAll("dialog[open]")) {
    if (!(dialog instanceof HTMLDialogElement)) continue;
    dialog.close();
    dialog.showModal();
  }
  page.addEventListener("keydown", (event) => {
    // The space bar presses buttons, and these links have that role.
    if (event.key !== " " || !(event.target instanceof HTMLElement) || !event.target.matches("a[role=button]")) return;
    event.preventDefault();
    event.target.click();
  });
  page.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.defaultPrevented) return;
    const opener = event.target.closest("[data-dialog]");
    if (opener instanceof HTMLElement) open(page, opener, event);
    const dialog = event.target.closest("dialog");
    // A click on the backdrop has the dialog itself as its target.
    if (dialog === null || (event.target !== dialog && event.target.closest("[data-close]") === null)) return;
    event.preventDefault();
    dialog.close();
  });
}

/**
 * @param {Document} page
 * @param {HTMLElement} opener
 * @param {MouseEvent} event
 */
function open(page, opener, event) {
  // Modified clicks open the link in a new tab or window.
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const dialog = page.getElementById(opener.dataset.dialog ?? "");
  if (!(dialog instanceof HTMLDialogElement)) return;
  event.preventDefault();
  dialog.showModal();
}
