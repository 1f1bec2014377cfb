// @ts-check

/**
 * Makes each form submit once, and lets users reveal passwords.
 * @param {Document} page
 */
export function watchForms(page) {
  page.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
    if (form.dataset.sent !== undefined) event.preventDefault();
    form.dataset.sent = "";
  });
  // The browser restores a page from history as the user left it.
  addEventListener("pageshow", () => {
    for (const form of page.forms) delete form.dataset.sent;
  });
  for (const control of page.querySelectorAll(".control.secret")) addReveal(control);
  focusProblem(page);
}

/** @param {Document} page */
function focusProblem(page) {
  const field = page.querySelector("[aria-invalid]");
  if (field instanceof HTMLElement) field.focus();
}

/** @param {Element} control */
function addReveal(control) {
  const input = control.querySelector("input");
  if (input === null) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "reveal";
  button.textContent = "Show";
  button.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-label", "Show the password");
  button.addEventListener("click", () => {
    const isShown = input.type === "text";
    input.type = isShown ? "password" : "text";
    button.textContent = isShown ? "Show" : "Hide";
    button.setAttribute("aria-pressed", String(!isShown));
  });
  control.append(button);
}
