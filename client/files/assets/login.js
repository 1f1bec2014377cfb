// @ts-check
// The page that asks for the passphrase. Without this script the form works as well, by a plain POST.
import { find } from "../../../web/browser/dom.js";

const form = find("form", HTMLFormElement);
const input = find("#passphrase", HTMLInputElement);
const problem = find("#problem", HTMLElement);
const reveal = find("#reveal", HTMLElement);
const submit = find("[type=submit]", HTMLButtonElement);

reveal.hidden = false;
reveal.addEventListener("click", () => {
  const isShown = input.type === "text";
  input.type = isShown ? "password" : "text";
  reveal.textContent = isShown ? "Show" : "Hide";
  reveal.setAttribute("aria-pressed", String(!isShown));
  input.focus();
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  submit.disabled = true;
  problem.textContent = "";
  const message = await signIn();
  if (message === null) {
    location.reload();
    return;
  }
  submit.disabled = false;
  problem.textContent = message;
  form.classList.remove("shake");
  requestAnimationFrame(() => form.classList.add("shake"));
  input.select();
});

/** Null when the passphrase was right, otherwise what to tell. */
async function signIn() {
  try {
    const response = await fetch("?login", {
      method: "POST",
      headers: { accept: "application/json", "x-portway-page": "1" },
      body: new URLSearchParams({ passphrase: input.value }),
    });
    if (response.ok) return null;
    if (response.status !== 429) return "That is not the passphrase.";
    return `Too many wrong tries. Try again in ${response.headers.get("retry-after") ?? "some"} seconds.`;
  } catch {
    return "The share cannot be reached.";
  }
}
