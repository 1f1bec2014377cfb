import type { ActionContext } from "../action.ts";
import { describeView } from "./find_view.ts";
import { openApi } from "../open_api.ts";
import { parseView } from "../views/mod.ts";
import { withReporter } from "./with_reporter.ts";

/** Runs `--views-add`: creates a view, which captures from then on. */
export async function addView(context: ActionContext): Promise<number> {
  return await withReporter(context, async ({ reporter, ...options }) => {
    const { api } = await openApi(options);
    const name = context.config.viewsAdd;
    const view = parseView(await api.post("/api/v1/views", name === null || name === "-" ? {} : { name }));
    reporter.report("view", { ...view }, describeView(view));
    return 0;
  });
}
