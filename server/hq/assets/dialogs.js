// @ts-check

/**
 * Links with `data-dialog` open that dialog instead of the page that asks the same.
 * @param {Document} page
 */
export function watchDialogs(page) {
  page.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.defaultPrevented) return;
    const opener = event.target.closest("[data-dialog]");
    if (opener instanceof HTMLElement) open(page, opener, event);
    const dialog = event.target.closest("dialog");
    // A click beside it, on the backdrop, is the dialog's own.
    if (dialog !== null && (event.target === dialog || event.target.closest("[data-close]") !== null)) dialog.close();
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
