// @ts-check
// What every page of HQ gets when scripts run. Without them all works too, a little slower.
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

// What was done is told once: not again when the page is loaded again.
const pairs = location.search.slice(1).split("&");
const kept = pairs.filter((pair) => !/^done(?:=|$)/.test(pair));
if (kept.length < pairs.length) {
  history.replaceState(null, "", location.pathname + (kept.length > 0 ? `?${kept.join("&")}` : "") + location.hash);
}
