// @ts-check

/**
 * Links with `data-dialog` open that dialog at once, instead of by the address at which the page shows it.
 * @param {Document} page
 */
export function watchDialogs(page) {
  // What the address asked for was sent open, without keeping the rest of the page away.
  for (const dialog of page.querySelectorAll("dialog[open]")) {
    if (!(dialog instanceof HTMLDialogElement)) continue;
    dialog.close();
    dialog.showModal();
  }
  page.addEventListener("keydown", (event) => {
    // They are told as buttons, which the space bar presses.
    if (event.key !== " " || !(event.target instanceof HTMLElement) || !event.target.matches("a[role=button]")) return;
    event.preventDefault();
    event.target.click();
  });
  page.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.defaultPrevented) return;
    const opener = event.target.closest("[data-dialog]");
    if (opener instanceof HTMLElement) open(page, opener, event);
    const dialog = event.target.closest("dialog");
    // A click beside it, on the backdrop, is the dialog's own.
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
  // Whoever asks for a new tab gets the page.
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const dialog = page.getElementById(opener.dataset.dialog ?? "");
  if (!(dialog instanceof HTMLDialogElement)) return;
  event.preventDefault();
  dialog.showModal();
}
