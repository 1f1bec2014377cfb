import type { ActionContext } from "../action.ts";
import { findView } from "./find_view.ts";
import { openBrowser } from "../login/mod.ts";
import { openApi } from "../open_api.ts";
import { withReporter } from "./with_reporter.ts";

/** Runs `--views-open`: opens a view in the browser and prints its address. */
export async function openView(context: ActionContext): Promise<number> {
  return await withReporter(context, async ({ reporter, ...options }) => {
    const { api } = await openApi(options);
    const { id, name, browserUrl } = await findView(api, context.config.viewsOpen ?? "");
    const browser = openBrowser(browserUrl, context.env);
    reporter.report("view_opened", { id, name, browserUrl, opened: browser !== null }, [browserUrl]);
    if (browser === null) reporter.note("There is no browser to open it in here.");
    return 0;
  });
}
