// @ts-check

/** How long a button confirms the copy. */
const SHOWN_MS = 1500;

/**
 * Shows the copy buttons and makes them work.
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
    // The browser refuses, for example without focus. The user can select the text by hand.
    return;
  }
  button.classList.add("done");
  button.setAttribute("aria-label", "Copied");
  setTimeout(() => {
    button.classList.remove("done");
    button.setAttribute("aria-label", label);
  }, SHOWN_MS);
}
