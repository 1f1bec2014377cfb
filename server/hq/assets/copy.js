// @ts-check

/** How long a button says that it has copied. */
const SHOWN_MS = 1500;

/**
 * Shows the buttons that copy, and makes them do so.
 * @param {ParentNode} root
 */
export function watchCopyButtons(root) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    if (!(button instanceof HTMLButtonElement) || !button.hidden || navigator.clipboard === undefined) continue;
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const label = button.getAttribute("aria-label") ?? "";
  try {
    await navigator.clipboard.writeText(button.dataset.copy ?? "");
  } catch {
    // The browser refuses, as without focus: the text is there to be selected by hand.
    return;
  }
  button.classList.add("done");
  button.setAttribute("aria-label", "Copied");
  setTimeout(() => {
    button.classList.remove("done");
    button.setAttribute("aria-label", label);
  }, SHOWN_MS);
}
