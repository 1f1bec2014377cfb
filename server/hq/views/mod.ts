import type { ViewService } from "../../captures/mod.ts";
import type { HqApp } from "../types.ts";
import { addCapturePage } from "./capture.tsx";
import { addViewSettings } from "./settings.tsx";
import { addViewList } from "./views.tsx";

/** Folders with the files that these pages load: their own, and body readers that the client uses too. */
export const VIEW_ASSETS: readonly URL[] = [
  new URL("./assets/", import.meta.url),
  new URL("../../../common/readable/", import.meta.url),
];

/** Adds the request view pages. */
export function addViewPages(app: HqApp, views: ViewService): void {
  addViewList(app, views);
  addCapturePage(app, views);
  addViewSettings(app, views);
}
