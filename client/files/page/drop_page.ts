import { escapeHtml } from "../../../common/http_error.ts";
import { formatBytes } from "../../../common/format.ts";
import { renderAssetPage, type ShareFacts } from "./page.ts";

/** The page of a share that only takes files. It tells the share's name and nothing of what is in it. */
export function renderDropPage({ name, maxUpload }: ShareFacts): Response {
  return renderAssetPage("drop_page.html", {
    title: escapeHtml(name),
    limit: maxUpload === null ? "" : `At most ${formatBytes(maxUpload)} each.`,
  });
}
