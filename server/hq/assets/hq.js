// @ts-check
// The script on every HQ page. Without scripts all pages work too.
import { showTimes } from "./times.js";
import { watchCopyButtons } from "./copy.js";
import { watchDialogs } from "./dialogs.js";
import { watchForms } from "./forms.js";
import { watchMenus } from "./menus.js";
import { keepLive } from "./live.js";

function refresh() {
  showTimes(document);
  watchCopyButtons(document);
}

refresh();
watchDialogs(document);
watchForms(document);
watchMenus(document);
keepLive(document, refresh);

// The message appears once, not again when the page is reloaded.
const pairs = location.search.slice(1).split("&");
const kept = pairs.filter((pair) => !/^done(?:=|$)/.test(pair));
if (kept.length < pairs.length) {
  history.replaceState(null, "", location.pathname + (kept.length > 0 ? `?${kept.join("&")}` : "") + location.hash);
}
