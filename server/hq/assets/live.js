// @ts-check

/** Time between two looks at the server; nobody looks while the page is out of sight. */
const INTERVAL_MS = 3000;

/**
 * Keeps parts with `data-live` and an id as the server would show them now: by asking for the page again, so that one
 * place alone knows what they look like.
 * @param {Document} page
 * @param {() => void} onChange is called after parts were replaced
 */
export function keepLive(page, onChange) {
  if (page.querySelector("[data-live]") === null) return;
  /** A part as it was sent last: what scripts have changed in it since is no change. @type {Map<string, string>} */
  const sent = new Map();
  setInterval(async () => {
    if (page.hidden || page.querySelector("dialog[open]") !== null) return;
    const fresh = await load();
    if (fresh !== null && replaceParts(page, fresh, sent)) onChange();
  }, INTERVAL_MS);
}

async function load() {
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  } catch {
    // The server cannot be reached now; what is shown stays.
    return null;
  }
}

/**
 * @param {Document} page
 * @param {Document} fresh
 * @param {Map<string, string>} sent
 * @returns whether anything was replaced
 */
function replaceParts(page, fresh, sent) {
  let isChanged = false;
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const old = page.getElementById(part.id), html = part.outerHTML;
    if (old === null || sent.get(part.id) === html || old.contains(page.activeElement)) continue;
    sent.set(part.id, html);
    old.replaceWith(page.importNode(part, true));
    isChanged = true;
  }
  return isChanged;
}
