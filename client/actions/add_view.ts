import type { ActionContext } from "../action.ts";
import { describeView } from "./find_view.ts";
import { openApi } from "../open_api.ts";
import { parseView } from "../views/mod.ts";
import { withTeller } from "./with_teller.ts";

/** Runs `--views-add`: creates a view, which captures from then on. */
export async function addView(context: ActionContext): Promise<number> {
  return await withTeller(context, async ({ teller, ...options }) => {
    const { api } = await openApi(options);
    const name = context.config.viewsAdd;
    const view = parseView(await api.post("/api/v1/views", name === null || name === "-" ? {} : { name }));
    teller.tell("view", { ...view }, describeView(view));
    return 0;
  });
}
