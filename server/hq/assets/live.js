// @ts-check

/** Time between two requests. A hidden page sends none. */
const INTERVAL_MS = 3000;

/**
 * Keeps the elements with `data-live` and an id up to date. It requests the page again, so that only the server
 * renders them.
 * @param {Document} page
 * @param {() => void} onChange is called after parts were replaced
 */
export function keepLive(page, onChange) {
  if (page.querySelector("[data-live]") === null) return;
  /** The elements as the server sent them last. Changes by scripts do not count. @type {Map<string, string>} */
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
    // While the server is unreachable, the page keeps the last state.
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
